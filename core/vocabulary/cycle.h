// shortest_cycle: a shortest cycle through a node of a graph, by breadth-first search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ripeline::core {

// A step of a cycle, from `node` over `arc` to the `node` of the next step.
template <class Node, class Arc>
struct CycleStep {
  Node node;
  Arc arc;
};

// The steps of a shortest cycle through `start`, from `start` on; empty if no cycle has at most
// `most` steps. `arcs(node, visit)` calls visit(next, arc) for each arc out of the node. Among
// shortest cycles the order of the arcs decides. Nodes and arcs are numbers.
template <class Node, class Arc, class Arcs>
[[nodiscard]] std::vector<CycleStep<Node, Arc>> shortest_cycle(
    Node start, const Arcs& arcs, std::size_t most = std::numeric_limits<std::size_t>::max()) {
  using Step = CycleStep<Node, Arc>;
  std::unordered_map<Node, Step> from;  // the step by which each node was reached
  std::vector<Node> front{start};
  bool is_back = false;
  for (std::size_t length = 1; length <= most && !front.empty() && !is_back; ++length) {
    std::vector<Node> after;
    for (std::size_t i = 0; i < front.size() && !is_back; ++i) {
      arcs(front[i], [&](Node next, Arc arc) {
        if (is_back || !from.emplace(next, Step{front[i], arc}).second) return;
        is_back = next == start;
        after.push_back(next);
      });
    }
    front = std::move(after);
  }
  if (!is_back) return {};
  std::vector<Step> cycle;
  Node node = start;
  do {
    cycle.push_back(from.at(node));
    node = cycle.back().node;
  } while (node != start);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace ripeline::core
