// One model on several placements: which order on which of them is the best.
//
// What is asked for is given for all of a rank's layers; on a placement with two stages on a rank,
// each has half of it. Each placement is tried for a tenth of the time, and the one that is then
// best has the rest. Improvements are printed on standard error as they come. SIGINT and SIGTERM
// end the search, not the program. One search at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/microbatch_flag.h"
#include "optimise/bounds/bounds.h"
#include "optimise/uniform.h"
#include "spec/diagnostics.h"

namespace ripeline::cli {

enum class Placements : unsigned char { chain, v, any };

struct Asked {
  int ranks = 4;
  std::optional<Counts> microbatches;  // nothing: 8
  std::vector<std::string> costs = {"1", "1", "1", "0"};
  std::string memory;  // empty: what 1F1B holds
  Placements placement = Placements::chain;
  optimise::Objective objective = optimise::Objective::wall;
  double seconds = 10;
  std::uint64_t seed = 1;
};

// One placement.
struct Setup {
  const char* name;
  optimise::Uniform problem;
  std::int64_t unit = 1;       // so many of the problem's times are 1 in what is said
  optimise::Bound bound = {};  // if there is an order
  [[nodiscard]] double in_units(std::int64_t time) const {
    return static_cast<double>(time) / static_cast<double>(unit);
  }
};
// Errors: costs or memory that cannot be read, or more than can be searched.
[[nodiscard]] spec::Result<std::vector<Setup>> setups_of(const Asked& asked);

[[nodiscard]] const char* name_of(optimise::Objective objective);
// (value - bound) / value.
[[nodiscard]] double gap_of(double value, double bound);

class PlacementSearch {
 public:
  PlacementSearch(const Asked& asked, const std::vector<Setup>& setups);

  void run();

  struct Best {
    const Setup* setup = nullptr;
    optimise::FoundOrder order;
  };
  struct Improvement {
    double seconds = 0;
    double value = 0;
    double bound = 0;  // of its placement
    std::string method;
  };
  // No order on any of the placements is below it.
  struct Bound {
    double value = 0;
    std::string by;
  };
  [[nodiscard]] const std::optional<Best>& best() const { return best_; }
  [[nodiscard]] double best_value() const;  // of the objective; there is a best
  [[nodiscard]] const Bound& bound() const { return bound_; }
  [[nodiscard]] const std::vector<Improvement>& improvements() const { return improvements_; }
  [[nodiscard]] double seconds() const;  // since the search was made
  [[nodiscard]] bool interrupted() const;

 private:
  void search(const Setup& setup, double end);
  void add(const Setup& setup, const optimise::FoundOrder& order, std::string_view method);

  // SIGINT and SIGTERM, where they are not ignored already.
  class Signals {
   public:
    Signals();
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

   private:
    void (*interrupt_)(int);
    void (*terminate_)(int);
  };

  Signals signals_;
  const Asked& asked_;
  const std::vector<Setup>& setups_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  Bound bound_;
  std::optional<Best> best_;
  std::vector<Improvement> improvements_;
};

}  // namespace ripeline::cli
