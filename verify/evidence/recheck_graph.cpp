#include "verify/evidence/recheck_graph.h"

#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

namespace ripeline::verify {
namespace {

using Words = std::vector<std::string>;

struct Graph {
  Words tasks;
  std::vector<std::pair<std::string, std::string>> edges;
  Words listed;  // by the ranks
  Words order;
  Words cycle;
  int orders = 0;
  int cycles = 0;
};

std::string read(std::string_view text, Graph& graph) {
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != "ripeline.graph/1") return "it is no such graph";
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    Words rest;
    for (std::string word; words >> word;) rest.push_back(word);
    if (kind == "tasks") {
      graph.tasks.insert(graph.tasks.end(), rest.begin(), rest.end());
    } else if (kind == "rank") {
      for (std::size_t i = 1; i < rest.size(); ++i) graph.edges.emplace_back(rest[i - 1], rest[i]);
      graph.listed.insert(graph.listed.end(), rest.begin(), rest.end());
    } else if (kind == "need" && rest.size() == 2) {
      graph.edges.emplace_back(rest[0], rest[1]);
    } else if (kind == "order" && ++graph.orders == 1) {
      graph.order = rest;
    } else if (kind == "cycle" && ++graph.cycles == 1) {
      graph.cycle = rest;
    } else if (kind != "microbatches") {
      return "a line is not understood: " + line.substr(0, 60);
    }
  }
  return {};
}

// Where each task stands in the list. Wrong: a task twice, one that is none, or one missing.
std::string places(const Graph& graph, const Words& list, const std::string& name,
                   std::unordered_map<std::string, std::size_t>& place) {
  for (const std::string& task : list) {
    if (!place.emplace(task, place.size()).second) return task + " is twice in the " + name;
  }
  for (const std::string& task : graph.tasks) {
    if (place.count(task) == 0) return task + " is not in the " + name;
  }
  if (place.size() != graph.tasks.size()) return "the " + name + " has a task that is none";
  return {};
}

std::string problem_of(const Graph& graph, bool once, bool order, bool cycle) {
  std::unordered_map<std::string, std::size_t> place;
  if (std::string wrong = places(graph, graph.tasks, "tasks", place); !wrong.empty()) return wrong;
  if (once) {
    place.clear();
    if (std::string wrong = places(graph, graph.listed, "ranks' orders", place); !wrong.empty()) {
      return wrong;
    }
  }
  if (order) {
    place.clear();
    if (std::string wrong = places(graph, graph.order, "order", place); !wrong.empty()) {
      return wrong;
    }
    for (const auto& [before, after] : graph.edges) {
      if (place.count(before) == 0 || place.count(after) == 0)
        return "an edge has a task that is none";
      if (place[before] >= place[after]) return after + " is in the order before " + before;
    }
  }
  if (cycle) {
    const std::set<std::pair<std::string, std::string>> edges(graph.edges.begin(),
                                                              graph.edges.end());
    if (graph.cycle.empty()) return "the cycle is missing";
    for (std::size_t i = 0; i < graph.cycle.size(); ++i) {
      const std::string& next = graph.cycle[(i + 1) % graph.cycle.size()];
      if (edges.count({graph.cycle[i], next}) == 0) {
        return "the cycle goes from " + graph.cycle[i] + " to " + next + ", which is no edge";
      }
    }
  }
  return {};
}

}  // namespace

GraphCheck check_graph(std::string_view text, bool once, bool order, bool cycle) {
  Graph graph;
  GraphCheck check;
  check.problem = read(text, graph);
  if (check.problem.empty()) check.problem = problem_of(graph, once, order, cycle);
  check.order = std::move(graph.order);
  return check;
}

}  // namespace ripeline::verify
