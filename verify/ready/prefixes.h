// Prefixes: which lanes start their microbatches in order, and which lanes precede others.
//
// Sets of microbatches that lanes have ended are nested if one lane is an ancestor of the other, or
// if both are prefixes, 0, 1, 2, …; verify/ready/counters.h relies on this. One thread; the
// constructor's arguments must outlive it.
#pragma once

#include <map>
#include <vector>

#include "spec/guards.h"
#include "spec/program.h"

namespace ripeline::verify {

class Prefixes {
 public:
  Prefixes(const spec::Program& program, const std::vector<spec::Guards>& guards);

  // True if the lane's microbatches start in order. This is so if the lane is sequential, if it
  // needs a task that needs the lane's previous microbatch, or if it lies between a lane in order
  // that acquires room for one microbatch at a time and the lane that releases the room.
  [[nodiscard]] bool is_prefix(int lane) const { return prefixes_[static_cast<std::size_t>(lane)]; }
  // True if each task of `of` needs the lane's task of the same microbatch, directly or not.
  [[nodiscard]] bool is_ancestor(int lane, int of) const;
  [[nodiscard]] bool is_or_precedes(int lane, int of) const {
    return lane == of || is_ancestor(lane, of);
  }
  [[nodiscard]] const std::vector<int>& ancestors_of(int lane) const;

 private:
  [[nodiscard]] std::size_t found() const;
  void add_between(int first, int last);
  void add_behind(int lane, const spec::Guards& guards);
  [[nodiscard]] bool is_only_acquirer(int lane, int pool) const;

  const spec::Program& program_;
  std::vector<bool> prefixes_;                         // per lane
  mutable std::map<int, std::vector<int>> ancestors_;  // per lane that was asked for
};

}  // namespace ripeline::verify
