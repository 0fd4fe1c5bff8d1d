// PartBounds: what short steps say of a long one.
//
// Where all microbatches are alike and need nothing of each other, each may begin with a task that
// all its others need, its entry. Of an order in which each lane runs its microbatches in turn,
// take the first k away: what is left is a legal order of a step that is k shorter, and nothing of
// it starts before the entry of microbatch k. Hence, with start(k) the least start of that entry in
// any order, which the microbatches before it decide alone,
//   wall(m) >= start(k) + wall(m - k) and start(j + k) >= start(j) + start(k),
// and a solver finds the parts where the whole is too large for it. Plain values.
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
    bool is_last = false;  // its wall is asked for; else the start of the entry after it
    int attempt = 0;       // how often it was asked for before
  };

  // For a step of so many microbatches that are all like the one of the model. Nothing: the model
  // leaves something out, or has no entry; or the memory has so many slots that a formula says as
  // much as a part that is short enough for a solver.
  [[nodiscard]] static std::optional<PartBounds> of(const Model& one, int microbatches);

  // Whether a shorter model says of each of its microbatches what the whole one says: capacities,
  // and more, may be written as depending on how many there are.
  [[nodiscard]] static bool are_alike(const Model& shorter, const Model& whole);

  // The lane of the entries.
  [[nodiscard]] int entry() const { return entry_; }
  // The part that is worth most to know next, the larger the later; nothing: all that a solver can
  // be asked is known.
  [[nodiscard]] std::optional<Part> next() const;
  // No order of the part takes less, or begins the next microbatch earlier. Where that is not the
  // optimum it is asked for again; after some parts that are too hard nothing is.
  void set(const Part& part, Time bound, bool is_optimum);
  // A lower bound of the whole step's wall; 0: nothing is known yet.
  [[nodiscard]] Time bound() const { return bound_; }

 private:
  static constexpr int kAttempts = 3;
  static constexpr std::size_t kOfOneWay = 2;

  struct Solved {
    Time bound = 0;  // 0: not known
    int attempts = 0;
    bool is_optimum = false;
    [[nodiscard]] bool is_open() const { return !is_optimum && attempts < kAttempts; }
  };
  struct Lengths {
    int last = 0;  // 0: the whole step is not longer
    // How long the others are, which may be there several times: two lengths of each way. 0: none.
    std::array<int, 2 * kOfOneWay> others = {};
  };

  [[nodiscard]] Lengths lengths(int tasks) const;
  void add_up();

  int microbatches_ = 0;
  int entry_ = 0;
  Time entry_takes_ = 0;
  int tasks_of_each_ = 0;  // a microbatch's
  int slots_ = 1;          // microbatches that the memory has room for
  // Per number of microbatches.
  std::vector<Solved> starts_;
  std::vector<Solved> lasts_;
  int failures_ = 0;
  Time bound_ = 0;
};

}  // namespace ripeline::optimise
