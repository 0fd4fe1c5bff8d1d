// Readiness: tells whether all ranks are connected, which they report to each other along the tree
// (runtime/protocol/tree.h). Private to network/socket and network/ucx.
//
// Sans I/O. A rank tells its parent once it and all ranks below it are connected. Rank 0 tells its
// children that all ranks are, and each rank passes that on to its children. One thread.
#pragma once

#include <chrono>
#include <set>
#include <vector>

namespace ripeline::runtime::network {

// Ranks start at different times, so a rank waits this much longer for the connections of the other
// ranks than for its own.
inline constexpr std::chrono::seconds kLateRanks{5};

class Readiness {
 public:
  Readiness(int self, int ranks) : self_(self), ranks_(ranks) {}

  // Notes that this rank has all its connections.
  void connected() { connected_ = true; }
  // Notes a report of another rank; only the parent and the children in the tree count.
  void received_from(int rank) { received_from_.insert(rank); }
  // The ranks to be notified now; each is returned once.
  [[nodiscard]] std::vector<int> take_to_notify();

  // Whether all ranks are connected.
  [[nodiscard]] bool all() const;
  // Whether all ranks may be connected, as far as this one knows, so that some may run already.
  [[nodiscard]] bool may_be_all() const { return notified_parent_ || all(); }
  // The ranks that have not reported: children or, once all children have, the parent.
  [[nodiscard]] std::vector<int> late() const;

 private:
  int self_;
  int ranks_;
  bool connected_ = false;
  std::set<int> received_from_;
  bool notified_parent_ = false;
  bool notified_children_ = false;
};

}  // namespace ripeline::runtime::network
