#include "certificates/recheck_graph.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

namespace ripeline::certificates {
namespace {

using Words = std::vector<std::string>;

struct Link {
  std::string kind;  // slots, fifo, queue
  std::int64_t slots = 0;
  std::vector<std::pair<std::string, std::string>> messages;  // sender, taker
};

struct Graph {
  Words tasks;
  std::vector<Words> ranks;
  std::vector<Link> links;
  std::vector<std::pair<std::string, std::string>> edges;
  Words listed;  // the tasks of all rank lines
  Words order;
  Words cycle;
  int orders = 0;
  int cycles = 0;
};

// Reads the slots of a `slots` or `queue` line and its messages, or the messages of a `fifo` line.
bool read_link(const std::string& kind, const Words& rest, Graph& graph) {
  const std::size_t first = kind == "fifo" ? 0 : 1;
  if (rest.size() < first || (rest.size() - first) % 2 != 0) return false;
  Link link{kind, 0, {}};
  if (first == 1) {
    if (rest[0].empty() || rest[0].size() > 18) return false;
    if (rest[0].find_first_not_of("0123456789") != std::string::npos) return false;
    link.slots = std::stoll(rest[0]);
  }
  for (std::size_t i = first; i < rest.size(); i += 2) {
    link.messages.emplace_back(rest[i], rest[i + 1]);
  }
  graph.links.push_back(std::move(link));
  return true;
}

std::optional<std::string> read(std::string_view text, Graph& graph) {
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
      graph.ranks.push_back(rest);
    } else if (kind == "need" && rest.size() == 2) {
      graph.edges.emplace_back(rest[0], rest[1]);
    } else if ((kind == "slots" || kind == "fifo" || kind == "queue") &&
               read_link(kind, rest, graph)) {
      continue;
    } else if (kind == "order" && ++graph.orders == 1) {
      graph.order = rest;
    } else if (kind == "cycle" && ++graph.cycles == 1) {
      graph.cycle = rest;
    } else if (kind != "microbatches") {
      return "a line is not understood: " + line.substr(0, 60);
    }
  }
  return std::nullopt;
}

// The index of each task in the list; returns an error for a task listed twice, unknown or missing.
std::optional<std::string> places(const Graph& graph, const Words& list, const std::string& name,
                                  std::unordered_map<std::string, std::size_t>& place) {
  for (const std::string& task : list) {
    if (!place.emplace(task, place.size()).second) return task + " is twice in the " + name;
  }
  for (const std::string& task : graph.tasks) {
    if (place.count(task) == 0) return task + " is not in the " + name;
  }
  if (place.size() != graph.tasks.size()) return "the " + name + " has a task that is none";
  return std::nullopt;
}

// The rank line that has all of these tasks in this order, or null.
const Words* line_with(const Graph& graph, const Words& tasks) {
  for (const Words& rank : graph.ranks) {
    std::size_t next = 0;
    for (const std::string& task : rank) next += next < tasks.size() && task == tasks[next] ? 1 : 0;
    if (next == tasks.size()) return &rank;
  }
  return nullptr;
}

// Runs every task that can run, but lets the tasks of one rank line run only one by one.
class HeldBack {
 public:
  explicit HeldBack(const Graph& graph) : graph_(graph), after_(graph.tasks.size()) {
    for (const std::string& task : graph.tasks) number_.emplace(task, number_.size());
    missing_.resize(graph.tasks.size());
    for (const auto& [before, after] : graph.edges) {
      after_[number_.at(before)].push_back(number_.at(after));
      ++missing_[number_.at(after)];
    }
  }

  // The task of `line` before which more messages may wait than the link has slots, or an empty
  // text. All senders and takers of the link must be tasks, and all takers must be on `line`.
  std::string overfull(const Link& link, const Words& line) const {
    std::vector<std::int64_t> adds(graph_.tasks.size());  // waiting messages that the task adds
    std::vector<bool> held(graph_.tasks.size());
    for (const std::string& task : line) held[number_.at(task)] = true;
    for (const auto& [sender, taker] : link.messages) {
      ++adds[number_.at(sender)];
      --adds[number_.at(taker)];
    }
    std::vector<std::size_t> missing = missing_;
    std::vector<std::size_t> ready;
    std::int64_t waiting = 0;
    const auto run = [&](std::size_t task) {
      waiting += adds[task];
      for (const std::size_t next : after_[task]) {
        if (--missing[next] == 0 && !held[next]) ready.push_back(next);
      }
    };
    for (std::size_t task = 0; task < missing.size(); ++task) {
      if (missing[task] == 0 && !held[task]) ready.push_back(task);
    }
    for (const std::string& next : line) {
      while (!ready.empty()) {
        const std::size_t task = ready.back();
        ready.pop_back();
        run(task);
      }
      if (waiting > link.slots || missing[number_.at(next)] != 0) return next;
      run(number_.at(next));
    }
    return {};
  }

 private:
  const Graph& graph_;
  std::unordered_map<std::string, std::size_t> number_;
  std::vector<std::vector<std::size_t>> after_;
  std::vector<std::size_t> missing_;  // per task: predecessors that have not run
};

// The task that never gets its message, since earlier messages occupy all slots; empty if there is
// none. All takers must be on the rank line.
std::string without_slot(const Link& link, const Words& line) {
  std::unordered_map<std::string, std::vector<std::size_t>> taken_by;
  for (std::size_t i = 0; i < link.messages.size(); ++i) {
    taken_by[link.messages[i].second].push_back(i);
  }
  std::vector<bool> taken(link.messages.size(), false);
  for (const std::string& task : line) {
    const auto its = taken_by.find(task);
    if (its == taken_by.end()) continue;
    const auto last = taken.begin() + static_cast<std::ptrdiff_t>(its->second.back()) + 1;
    if (std::count(taken.begin(), last, false) > link.slots) return task;
    for (const std::size_t i : its->second) taken[i] = true;
  }
  return {};
}

// Checks for each link that its slots never make a message wait for ever.
std::optional<std::string> waiting_message(const Graph& graph) {
  const HeldBack tasks(graph);
  for (const Link& link : graph.links) {
    Words senders;
    Words takers;
    for (const auto& [sender, taker] : link.messages) {
      senders.push_back(sender);
      takers.push_back(taker);
    }
    if (link.messages.empty()) continue;
    if (link.kind == "fifo") {
      if (line_with(graph, senders) == nullptr || line_with(graph, takers) == nullptr) {
        return "a link's messages are not taken as they are sent: " + takers.front();
      }
      continue;
    }
    const Words* line = line_with(graph, {takers.front()});
    for (const std::string& taker : takers) {
      if (line == nullptr || std::find(line->begin(), line->end(), taker) == line->end()) {
        return taker + " does not take where " + takers.front() + " does";
      }
    }
    if (link.kind == "queue") {
      if (line_with(graph, senders) == nullptr) {
        return "a link's messages are not in the order of their senders: " + senders.front();
      }
      const std::string task = without_slot(link, *line);
      if (!task.empty()) return "no slot is left for the message that is taken by " + task;
      continue;
    }
    const std::string place = tasks.overfull(link, *line);
    if (!place.empty()) return "more messages than there are slots may wait before " + place;
  }
  return std::nullopt;
}

std::optional<std::string> problem_of(const Graph& graph, bool once, bool order, bool cycle) {
  std::unordered_map<std::string, std::size_t> place;
  if (auto wrong = places(graph, graph.tasks, "tasks", place)) return wrong;
  if (once) {
    place.clear();
    if (auto wrong = places(graph, graph.listed, "ranks' orders", place)) return wrong;
  }
  if (order) {
    place.clear();
    if (auto wrong = places(graph, graph.order, "order", place)) return wrong;
    for (const auto& [before, after] : graph.edges) {
      if (place.count(before) == 0 || place.count(after) == 0)
        return "an edge has a task that is none";
      if (place[before] >= place[after]) return after + " is in the order before " + before;
    }
    for (const Link& link : graph.links) {
      for (const auto& [sender, taker] : link.messages) {
        if (place.count(sender) == 0 || place.count(taker) == 0)
          return "a link has a task that is none";
      }
    }
    if (auto wrong = waiting_message(graph)) return wrong;
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
  return std::nullopt;
}

}  // namespace

GraphCheck check_graph(std::string_view text, bool once, bool order, bool cycle) {
  Graph graph;
  GraphCheck check;
  check.problem = read(text, graph);
  if (!check.problem) check.problem = problem_of(graph, once, order, cycle);
  check.order = std::move(graph.order);
  return check;
}

}  // namespace ripeline::certificates
