// PartBounds: lower bounds of a long step from the optima of shorter steps.
//
// Suppose that microbatches are alike and need nothing of each other, and that each has an *entry*,
// a task that all its other tasks need. Take an order in which each lane runs its microbatches in
// turn, and remove the first k microbatches. The rest is a legal order of a step that is k shorter,
// and none of its tasks starts before the entry of microbatch k. Let start(k) be the least start of
// that entry in any order; only the microbatches before k matter. Then
//   makespan(m) >= start(k) + makespan(m - k) and start(j + k) >= start(j) + start(k).
// A solver can solve such short steps, the *parts*, if the whole step is too large. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "optimise/model.h"

namespace ripeline::optimise {

class PartBounds {
 public:
  struct Part {
    int microbatches = 0;
    bool is_last = false;  // true: bounds the part's makespan; false: bounds start(microbatches)
    int attempt = 0;       // how often a solver has tried this part before
  };

  // For a step of `microbatches`, each like the microbatch of `one`. nullopt if the model leaves
  // something out or has no entry, or if the memory has so many slots that a formula gives as good
  // a bound as any part that is short enough for a solver.
  [[nodiscard]] static std::optional<PartBounds> of(const Model& one, int microbatches);

  // Whether each microbatch of a shorter step is modelled as in the whole step. They may differ,
  // since capacities and other values of a program may depend on the number of microbatches.
  [[nodiscard]] static bool are_alike(const Model& shorter, const Model& whole);

  // The lane of the entries.
  [[nodiscard]] int entry() const { return entry_; }
  // The part that a solver should try next; smaller parts come first. nullopt if no further attempt
  // is worthwhile.
  [[nodiscard]] std::optional<Part> next() const;
  // Records a lower bound of the part's makespan if `is_last`, else of start(microbatches). A part
  // without an optimum is tried again. Once several parts were too hard, next() returns nullopt.
  void set(const Part& part, Time bound, bool is_optimum);
  // A lower bound of the whole step's makespan; 0 if none is known yet.
  [[nodiscard]] Time bound() const { return bound_; }

 private:
  static constexpr int kAttempts = 3;
  static constexpr std::size_t kOfOneWay = 2;

  struct Solved {
    Time bound = 0;  // 0 if unknown
    int attempts = 0;
    bool is_optimum = false;
    [[nodiscard]] bool is_open() const { return !is_optimum && attempts < kAttempts; }
  };
  struct Lengths {
    int last = 0;  // 0 if the part would be the whole step
    // Lengths of the other parts, two for each way; several parts may have one length. 0: unused.
    std::array<int, 2 * kOfOneWay> others = {};
  };

  [[nodiscard]] Lengths lengths(int tasks) const;
  void add_up();

  int microbatches_ = 0;
  int entry_ = 0;
  Time entry_takes_ = 0;
  int tasks_of_each_ = 0;  // tasks of one microbatch
  int slots_ = 1;          // microbatches that the memory has room for
  // Both are indexed by a part's number of microbatches.
  std::vector<Solved> starts_;
  std::vector<Solved> lasts_;
  int failures_ = 0;
  Time bound_ = 0;
};

}  // namespace ripeline::optimise
