// TaskGraph: the tasks of one step as a graph of their needs, with the least time of each task.
//
// The graph has everything that a task waits for under every dispatch: its needs with their
// messages and, in a sequential lane, the task before it. The needs come from the Program and the
// times from the Timing. Room and engines are ignored, so any run takes at least as long as each
// path of the graph. Times are in nanoseconds. Immutable once made.
#pragma once

#include <cstdint>
#include <vector>

#include "core/status.h"
#include "core/task.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::optimise {

class TaskGraph {
 public:
  using Time = std::int64_t;
  static constexpr Time kNone = -1;  // no path

  // `node` starts no earlier than `lag` after the end of `before`.
  struct Arc {
    int before = 0;
    int node = 0;
    Time lag = 0;
  };

  // `timing` must not draw any times. Fails by status if the needs form a cycle. The program must
  // outlive the graph.
  static core::Status make(const spec::Program& program, int microbatches,
                           const simulate::Timing& timing, TaskGraph& graph);

  // Nodes 0 to tasks() - 1 are tasks, sorted by lane. Each later node joins all tasks that an edge
  // with `of all` needs, and takes no time.
  [[nodiscard]] int tasks() const { return tasks_; }
  [[nodiscard]] int nodes() const { return size_of(takes_); }
  [[nodiscard]] int node(core::Task task) const {
    return at(first_node_, task.lane) + task.microbatch;
  }
  // The nodes of the lane are first_node(lane) to first_node(lane + 1) - 1.
  [[nodiscard]] int first_node(int lane) const { return at(first_node_, lane); }
  [[nodiscard]] core::Task task(int node) const;
  // The least time that the task takes, even beside the other task of a pair.
  [[nodiscard]] Time takes(int node) const { return at(takes_, node); }
  // Sorted: all arcs to a node come before all arcs from that node.
  [[nodiscard]] const std::vector<Arc>& arcs() const { return arcs_; }
  // The node that waits for the message: an `of all` edge's node, or else the first task that needs
  // the message; -1 if there is no such node.
  [[nodiscard]] int receiver(core::Message message) const;

  // `heads` has the least start of each node where a path may begin, and kNone elsewhere. Sets each
  // entry to the longest path before the node, including the least start of the path's first node.
  void extend_heads(std::vector<Time>& heads) const;
  // The same for tails: sets each entry to the longest path after the node, plus a given tail.
  void extend_tails(std::vector<Time>& tails) const;

 private:
  void add_edge(int edge, const simulate::Timing& timing);
  core::Status sort_arcs();

  const spec::Program* program_ = nullptr;
  int microbatches_ = 0;
  int tasks_ = 0;
  std::vector<int> first_node_;  // per lane, and one past the last
  std::vector<int> all_node_;    // per edge with `of all`; else -1
  std::vector<Time> takes_;      // per node
  std::vector<Arc> arcs_;        // sorted
};

}  // namespace ripeline::optimise
