// MethodResult: the time and memory of one method's order, for a table that compares methods.
//
// The simulator runs every order. An order from a search or the greedy is proved first, and its
// simulated times must be those that its maker claims. The memory in a MethodResult is that of the
// fullest rank, in activations of all layers of a rank. A failure ends the program by
// std::runtime_error. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/optimisers/steps.h"
#include "optimise/forms.h"
#include "optimise/problem.h"
#include "pytorch/export.h"
#include "spec/expr.h"

namespace ripeline::bench {

// The costs of an evenly divided model. A task's cost is for a microbatch in all layers of a rank.
struct EvenCosts {
  int ranks = 8;
  int microbatches = 24;
  std::int64_t forward = 1;
  std::int64_t input = 1;
  std::int64_t weight = 1;
  std::int64_t latency = 0;
  int chunks = 2;  // the stages of a rank in the published runs of interleaved 1F1B

  [[nodiscard]] std::string name() const;  // such as (8,24,24,23,12,1)
  [[nodiscard]] std::int64_t work() const { return microbatches * (forward + input + weight); }
};

// A model with round costs, then the models with which Zero Bubble was published, in microseconds.
[[nodiscard]] std::vector<EvenCosts> published_models();

// The names that searched_result() gives to the two kinds of search.
inline constexpr const char* kChainSearch = "optimise, chain";
inline constexpr const char* kAnySearch = "optimise, any placement";

struct MethodResult {
  std::string method;
  double allowed = 0;  // the given memory, or a library schedule's own
  double held = 0;
  double makespan = 0;  // in the unit of the costs, as are the next three
  double span = 0;
  double work = 0;
  double bound = 0;  // on its objective, for its program with the allowed memory
  std::string bound_by = {};
  double seconds = 0;  // the time to make the order; 0 if from the library
  std::string placement = {};
  bool is_searched = false;
  std::string no_solver = {};  // why there was no solver, if one was requested
  pytorch::ExportedActions order = {};
  std::optional<Steps> steps = {};  // only if steps were requested

  [[nodiscard]] double value(optimise::Objective objective) const {
    return objective == optimise::Objective::makespan ? makespan : span;
  }
  [[nodiscard]] double gap(optimise::Objective objective) const;
};

struct Searching {
  optimise::Objective objective = optimise::Objective::makespan;
  double seconds = 3;  // for each search
  int solver_threads = 2;
  std::uint64_t seed = 1;
};

// The placements that a search tries. kAny has a chain, a V, and loops of 2 to 4 stages per rank.
using Placements = std::vector<pytorch::Placement>;
inline const Placements kChain = {pytorch::Placement::chain};
inline const Placements kV = {pytorch::Placement::v};
inline const Placements kAny = {pytorch::Placement::chain, pytorch::Placement::loop,
                                pytorch::Placement::v};
[[nodiscard]] std::string name_of(const Placements& placements);

class Forms {
 public:
  Forms(const EvenCosts& costs, spec::Rational memory, const Placements& placements,
        optimise::Objective objective);
  [[nodiscard]] const std::vector<optimise::Form>& all() const { return forms_; }

 private:
  std::vector<optimise::Form> forms_;
};

// The order that `ripeline optimise` finds in searching.seconds; nullopt if it finds no order.
[[nodiscard]] std::optional<MethodResult> searched_result(const EvenCosts& costs,
                                                          spec::Rational memory,
                                                          const Placements& placements,
                                                          const Searching& searching);
// The order of Zero Bubble's greedy; nullopt if the greedy makes no order that fits the memory.
[[nodiscard]] std::optional<MethodResult> greedy_result(const EvenCosts& costs, int memory,
                                                        optimise::Objective objective);
// The results of the library's schedules, each with its own memory.
[[nodiscard]] std::vector<MethodResult> library_results(const EvenCosts& costs,
                                                        optimise::Objective objective);

[[nodiscard]] nlohmann::json json_of(const EvenCosts& costs, const MethodResult& result,
                                     optimise::Objective objective);

// A memory with up to two decimals, such as 8, 11.5 or 7.67.
[[nodiscard]] std::string memory_text(double memory);
// A cost or time without trailing zeros.
[[nodiscard]] std::string time_text(double time);

}  // namespace ripeline::bench
