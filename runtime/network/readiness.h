// Readiness: whether all ranks are connected, as they tell each other along the tree
// (runtime/process/tree.h). Private to network/socket and network/ucx.
//
// Sans I/O. A rank tells its parent that all below it are connected, and rank 0 tells its children
// that all are, who pass it on. One thread.
#pragma once

#include <chrono>
#include <set>
#include <vector>

namespace ripeline::runtime::network {

// The time by which ranks differ in starting: so much longer than for its own connections a rank
// waits for those of the others.
inline constexpr std::chrono::seconds kLateRanks{5};

class Readiness {
 public:
  Readiness(int self, int ranks) : self_(self), ranks_(ranks) {}

  // The rank has its connections.
  void connected() { connected_ = true; }
  // A rank next to it has told it; any other does not count.
  void told_by(int rank) { told_by_.insert(rank); }
  // Those that have to be told now, once each.
  [[nodiscard]] std::vector<int> take_tell();

  // All ranks are connected.
  [[nodiscard]] bool all() const;
  // All may be, as far as this rank knows: some may have begun their run.
  [[nodiscard]] bool may_be_all() const { return told_parent_ || all(); }
  // Which have not told it: children, and if they have, the parent.
  [[nodiscard]] std::vector<int> late() const;

 private:
  int self_;
  int ranks_;
  bool connected_ = false;
  std::set<int> told_by_;
  bool told_parent_ = false;
  bool told_children_ = false;
};

}  // namespace ripeline::runtime::network
