// PartBounds: lower bounds of a long step from the optima of shorter steps.
//
// Suppose that microbatches are alike and do not depend on each other, and that each has an
// *entry*, a task on which all its other tasks depend. Take an order in which each lane runs its
// microbatches in turn, and remove the first k. The rest is a legal order of a step that is shorter
// by k microbatches, and it starts with the entry of microbatch k. Let start(k) be the least start
// of that entry over all orders; it depends only on the k microbatches before it. Then
//   makespan(m) >= start(k) + makespan(m - k) and start(j + k) >= start(j) + start(k).
// A solver can solve these short steps, the *parts*, if the whole step is too large. Plain values.
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

  // Prepares bounds of a step whose `microbatches` are each like that of `one`. nullopt if the
  // model leaves something out or has no entry. Also nullopt if the memory has so many slots that
  // the bound of a formula is as good as that of any part that a solver can solve.
  [[nodiscard]] static std::optional<PartBounds> of(const Model& one, int microbatches);

  // Whether a shorter step has the same microbatches and capacities as the whole step. They may
  // differ, since a program's values may depend on the number of microbatches.
  [[nodiscard]] static bool are_alike(const Model& shorter, const Model& whole);

  // The lane to which the entries of all microbatches belong.
  [[nodiscard]] int entry() const { return entry_; }
  // The part that a solver should try next; short parts come first. nullopt if no further attempt
  // is worth its time.
  [[nodiscard]] std::optional<Part> next() const;
  // Records a lower bound: of the part's makespan if `is_last`, else of start(microbatches). A part
  // without an optimum may be tried again. After several hard parts, next() returns nullopt.
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
    // Lengths of the other parts, two for each way; they may be equal. A length is 0 if unused.
    std::array<int, 2 * kOfOneWay> others = {};
  };

  [[nodiscard]] Lengths lengths(int tasks) const;
  void add_up();

  int microbatches_ = 0;
  int entry_ = 0;
  Time entry_takes_ = 0;
  int tasks_of_each_ = 0;  // tasks of one microbatch
  int slots_ = 1;          // microbatches that the memory has room for
  // Results for start(n) and makespan(n), where n is the index.
  std::vector<Solved> starts_;
  std::vector<Solved> lasts_;
  int failures_ = 0;
  Time bound_ = 0;
};

}  // namespace ripeline::optimise
