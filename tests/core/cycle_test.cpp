// Tests shortest cycles of small graphs.
#include "core/vocabulary/cycle.h"

#include <cstddef>
#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace ripeline::core {
namespace {

using Graph = std::map<int, std::vector<int>>;

// The nodes of the cycle. An arc's number is ten times its first node plus its second node.
std::vector<int> nodes_of(const Graph& graph, int start, std::size_t most = 100) {
  const auto arcs = [&](int node, const auto& visit) {
    const auto its = graph.find(node);
    if (its == graph.end()) return;
    for (const int next : its->second) visit(next, 10 * node + next);
  };
  std::vector<int> nodes;
  const auto cycle = shortest_cycle<int, int>(start, arcs, most);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    nodes.push_back(cycle[i].node);
    EXPECT_EQ(cycle[i].arc, 10 * cycle[i].node + cycle[(i + 1) % cycle.size()].node);
  }
  return nodes;
}

TEST(ShortestCycle, begins_with_the_node_and_comes_back) {
  const Graph graph = {{1, {2, 3}}, {2, {4}}, {3, {5}}, {4, {5}}, {5, {1}}};
  EXPECT_EQ(nodes_of(graph, 1), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(nodes_of(graph, 4), (std::vector<int>{4, 5, 1, 2}));
}

TEST(ShortestCycle, of_one_length_is_the_first_that_the_arcs_lead_to) {
  EXPECT_EQ(nodes_of({{1, {3, 2}}, {2, {1}}, {3, {1}}}, 1), (std::vector<int>{1, 3}));
}

TEST(ShortestCycle, may_be_one_node_and_need_not_exist) {
  EXPECT_EQ(nodes_of({{1, {2, 1}}, {2, {1}}}, 1), std::vector<int>{1});
  EXPECT_EQ(nodes_of({{1, {2}}, {2, {3}}, {3, {2}}}, 1), std::vector<int>{});
  EXPECT_EQ(nodes_of({}, 1), std::vector<int>{});
}

TEST(ShortestCycle, is_no_longer_than_it_may_be) {
  const Graph graph = {{1, {2}}, {2, {3}}, {3, {1}}};
  EXPECT_EQ(nodes_of(graph, 1, 3), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(nodes_of(graph, 1, 2), std::vector<int>{});
}

}  // namespace
}  // namespace ripeline::core
