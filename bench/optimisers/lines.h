// Orders of one model beside each other: each method's time and memory as lines of a table.
//
// Every order was run by the simulator; one that a search or the greedy made was proved first, and
// the simulator gave the times that its maker claims. A Line's memory is that of the fullest rank,
// in activations of all layers of a rank. Whatever fails ends the program by std::runtime_error.
// One thread.
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

// A model cut evenly: what all layers of a rank take for one microbatch, and a message.
struct EvenCosts {
  int ranks = 8;
  int microbatches = 24;
  std::int64_t forward = 1;
  std::int64_t input = 1;
  std::int64_t weight = 1;
  std::int64_t latency = 0;
  int chunks = 2;  // stages of a rank with which interleaved 1F1B was published

  [[nodiscard]] std::string name() const;  // (8,24,24,23,12,1)
  [[nodiscard]] std::int64_t work() const { return microbatches * (forward + input + weight); }
};

// Round costs first; then those that Zero Bubble was published with, in microseconds.
[[nodiscard]] std::vector<EvenCosts> published_models();

// Methods that search, as searched_line() names them.
inline constexpr const char* kChainSearch = "optimise, chain";
inline constexpr const char* kAnySearch = "optimise, any placement";

struct Line {
  std::string method;
  double allowed = 0;  // a fixed schedule's own memory, otherwise the given one
  double held = 0;
  double wall = 0;  // in the unit of the costs, as the next ones
  double span = 0;
  double work = 0;
  double bound = 0;  // for its program with the memory allowed, by the objective
  std::string bound_by = {};
  double seconds = 0;  // to make the order; 0: it is in the library
  std::string placement = {};
  bool is_searched = false;
  std::string no_solver = {};  // why there was none, where one was asked for
  pytorch::ExportedActions order = {};
  std::optional<Steps> steps = {};  // where they were asked for

  [[nodiscard]] double value(optimise::Objective objective) const {
    return objective == optimise::Objective::wall ? wall : span;
  }
  [[nodiscard]] double gap(optimise::Objective objective) const;
};

struct Searching {
  optimise::Objective objective = optimise::Objective::wall;
  double seconds = 3;  // for each search
  int solver_threads = 2;
  std::uint64_t seed = 1;
};

// Even forms that fit a memory; any: a chain, V, and loops of 2 to 4 stages.
enum class Placements : std::uint8_t { chain, v, any };
[[nodiscard]] const char* name_of(Placements placements);
class Forms {
 public:
  Forms(const EvenCosts& costs, spec::Rational memory, Placements placements,
        optimise::Objective objective);
  [[nodiscard]] const std::vector<optimise::Form>& all() const { return forms_; }

 private:
  std::vector<optimise::Form> forms_;
};

// The order that `ripeline optimise` finds in this time, as a line; nothing: no order.
[[nodiscard]] std::optional<Line> searched_line(const EvenCosts& costs, spec::Rational memory,
                                                Placements placements, const Searching& searching);
// Zero Bubble's greedy; nothing: it makes no order that fits.
[[nodiscard]] std::optional<Line> greedy_line(const EvenCosts& costs, int memory,
                                              optimise::Objective objective);
// Schedules of the library, each with what it holds.
[[nodiscard]] std::vector<Line> library_lines(const EvenCosts& costs,
                                              optimise::Objective objective);

[[nodiscard]] nlohmann::json json_of(const EvenCosts& costs, const Line& line,
                                     optimise::Objective objective);

// A time of the model in the unit of the problem's costs.
[[nodiscard]] double in_units(const optimise::Problem& problem, optimise::Time time);
// 8, 11.5, 7.67
[[nodiscard]] std::string memory_text(double memory);
// Costs and times have no more digits than they need.
[[nodiscard]] std::string time_text(double time);

}  // namespace ripeline::bench
