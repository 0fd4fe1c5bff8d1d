// Judges a program on the wire: either all events can happen, or a cycle of events shows why not.
#include "wire/wire.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/vocabulary/cycle.h"
#include "spec/indexing.h"
#include "spec/long_work.h"
#include "wire/graph.h"

namespace ripeline::wire {
namespace {

using Why = WireWait::Why;
using Id = std::uint32_t;

// The edges that lead into, or out of, each node; `list` has one value per edge.
struct Adjacency {
  std::vector<Id> first;  // per node its first index in `list`, then the end
  std::vector<Id> list;
};

template <class Key, class Value, class Keep>
Adjacency adjacency(const WireGraph& graph, const Key& key, const Value& value, const Keep& keep) {
  Adjacency a;
  a.first.assign(graph.nodes.size() + 1, 0);
  const auto edges = static_cast<Id>(graph.edges.size());
  for (Id e = 0; e < edges; ++e) {
    if (keep(graph.edges[e])) ++a.first[key(graph.edges[e]) + 1];
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) a.first[n + 1] += a.first[n];
  a.list.resize(a.first.back());
  std::vector<Id> next(a.first.begin(), a.first.end() - 1);
  for (Id e = 0; e < edges; ++e) {
    if (keep(graph.edges[e])) a.list[next[key(graph.edges[e])]++] = value(graph.edges[e], e);
  }
  return a;
}

// The nodes in an order in which they can happen; nodes that are not in it cannot happen.
std::vector<Id> sorted(const WireGraph& graph, std::vector<Id>& missing) {
  const Adjacency out = adjacency(
      graph, [](const auto& e) { return e.from; }, [](const auto& e, Id) { return e.to; },
      [](const auto&) { return true; });
  missing.assign(graph.nodes.size(), 0);
  for (const WireGraph::Edge& e : graph.edges) ++missing[e.to];
  std::vector<Id> order;
  std::vector<Id> ready;
  order.reserve(graph.nodes.size());
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    if (missing[n] == 0) ready.push_back(static_cast<Id>(n));
  }
  while (!ready.empty()) {
    const Id node = ready.back();
    spec::stop_point();
    ready.pop_back();
    order.push_back(node);
    for (Id i = out.first[node]; i < out.first[node + 1]; ++i) {
      if (--missing[out.list[i]] == 0) ready.push_back(out.list[i]);
    }
  }
  return order;
}

// The shortest cycle through one of the nodes that cannot happen (missing > 0), over such nodes
// only. It is a list of edges e0, e1, ... such that e0 starts where e1 ends, and so on.
std::vector<Id> cycle_of(const WireGraph& graph, const std::vector<Id>& missing) {
  const Adjacency in = adjacency(
      graph, [](const auto& e) { return e.to; }, [](const auto&, Id e) { return e; },
      [&](const auto& e) { return missing[e.from] > 0 && missing[e.to] > 0; });
  // A node that cannot happen waits for another such node, so walking back must reach a node again.
  std::vector<bool> seen(graph.nodes.size(), false);
  auto node = static_cast<Id>(
      std::find_if(missing.begin(), missing.end(), [](Id m) { return m > 0; }) - missing.begin());
  while (!seen[node]) {
    seen[node] = true;
    node = graph.edges[in.list[in.first[node]]].from;
  }
  const auto arcs = [&](Id to, const auto& visit) {
    for (Id k = in.first[to]; k < in.first[to + 1]; ++k) {
      visit(graph.edges[in.list[k]].from, in.list[k]);
    }
  };
  std::vector<Id> cycle;
  for (const auto& step : core::shortest_cycle<Id, Id>(node, arcs)) cycle.push_back(step.arc);
  return cycle;
}

// Edges inside kernels and collectives are not reasons, so each is merged with the edge before it.
std::vector<WireWait> waits_of(const WireGraph& graph, const WirePairing& pairing,
                               std::vector<Id> cycle) {
  const auto whole = [&](Id e) { return !graph.causes[e].part; };
  std::rotate(cycle.begin(), std::find_if(cycle.begin(), cycle.end(), whole), cycle.end());
  struct Step {
    Id on;
    Why why;
  };
  std::vector<Step> steps;
  for (const Id e : cycle) {
    const WireGraph::Cause& cause = graph.causes[e];
    if (!cause.part) {
      steps.push_back({cause.actor, cause.why});
    } else if (cause.actor != WireGraph::kNone) {
      steps.back().on = cause.actor;
    }
  }
  std::vector<WireWait> waits;
  Id waiting = steps.back().on;
  for (const Step& step : steps) {
    if (step.on != waiting || steps.size() == 1) {
      waits.push_back({pairing.position(waiting), pairing.position(step.on), step.why});
    }
    waiting = step.on;
  }
  return waits;
}

std::string text_of(const WireProgram& program, const WireWait& wait) {
  const std::string on = text_of(program, wait.on);
  switch (wait.why) {
    case Why::after:
      return fmt::format("{}, which it needs", on);
    case Why::stream:
      return fmt::format("{}, before it on its stream", on);
    case Why::communicator:
      return fmt::format("{}, before it on its communicator", on);
    case Why::launch:
      return fmt::format("{}, issued before it and not resident", on);
    case Why::resident:
      return fmt::format("{}, which occupies the device", on);
    case Why::message:
      return fmt::format("{}, its send", on);
    case Why::posted:
      return fmt::format("{} to be posted", on);
    case Why::collective:
      break;
  }
  return fmt::format("{} to take part", on);
}

std::string sentence_of(const WireProgram& program, const std::vector<WireWait>& cycle) {
  constexpr std::size_t kShown = 12;
  std::string text = text_of(program, cycle.front().waiting);
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
    text += fmt::format("{} waits for {}", i == 0 ? "" : "; that", text_of(program, cycle[i]));
  }
  if (cycle.size() > kShown) {
    return text + fmt::format("; and so on, {} waits in a circle.", cycle.size());
  }
  return text + ": a circle.";
}

WireVerdict deadlock(const WireProgram& program, const WirePairing& pairing,
                     const WireOptions& options) {
  const WireGraph graph = wire_graph(program, pairing, options, true);
  std::vector<Id> missing;
  (void)sorted(graph, missing);
  WireVerdict verdict;
  verdict.kind = WireVerdict::Kind::deadlock;
  verdict.cycle = waits_of(graph, pairing, cycle_of(graph, missing));
  verdict.sentence = sentence_of(program, verdict.cycle);
  return verdict;
}

// Turns nodes into starts and ends of actions.
std::vector<WireEvent> events_of(const WireGraph& graph, const WirePairing& pairing,
                                 const std::vector<Id>& order) {
  std::vector<WirePosition> where;
  where.reserve(pairing.all.size());
  for (int rank = 0; rank + 1 < size_of(pairing.first); ++rank) {
    const auto count = static_cast<int>(at(pairing.first, rank + 1) - at(pairing.first, rank));
    for (int i = 0; i < count; ++i) where.push_back({rank, i});
  }
  std::vector<WireEvent> events;
  events.reserve(2 * where.size());
  for (const Id n : order) {
    const WireGraph::Node& node = graph.nodes[n];
    for (Id a = node.action; a != WireGraph::kNone; a = graph.next_in_kernel[a]) {
      events.push_back({where[a], node.end});
      if (node.end) break;
    }
  }
  return events;
}

bool credits_make_sense(const WireProgram& program, const WireOptions& options) {
  const auto is_rank = [&](int r) { return r >= 0 && r < size_of(program.ranks); };
  return options.credits >= 0 && std::all_of(options.channel_credits.begin(),
                                             options.channel_credits.end(), [&](const auto& c) {
                                               return c.second >= 0 && is_rank(c.first.first) &&
                                                      is_rank(c.first.second);
                                             });
}

}  // namespace

std::string name_of(WireLayout layout) {
  switch (layout) {
    case WireLayout::group:
      return "group";
    case WireLayout::pair:
      return "pair";
    case WireLayout::edge:
      break;
  }
  return "edge";
}

std::string name_of(WireKernels kernels) {
  switch (kernels) {
    case WireKernels::per_stream:
      return "per-stream";
    case WireKernels::launch_order:
      return "launch-order";
    case WireKernels::serial:
      break;
  }
  return "serial";
}

std::string name_of(WireVerdict::Kind kind) {
  switch (kind) {
    case WireVerdict::Kind::safe:
      return "safe";
    case WireVerdict::Kind::deadlock:
      return "deadlock";
    case WireVerdict::Kind::mismatch:
      return "mismatch";
    case WireVerdict::Kind::unpaired:
      return "unpaired";
    case WireVerdict::Kind::invalid:
      break;
  }
  return "invalid";
}

WireVerdict judge_wire(const WireProgram& program, const WireOptions& options) {
  if (!credits_make_sense(program, options)) {
    return {.sentence = "Credits are below 0, or of a channel between ranks that do not exist."};
  }
  WirePairing pairing;
  if (auto wrong = pair_up(program, pairing)) return *std::move(wrong);
  const WireGraph graph = wire_graph(program, pairing, options, false);
  std::vector<Id> missing;
  const std::vector<Id> order = sorted(graph, missing);
  if (order.size() < graph.nodes.size()) return deadlock(program, pairing, options);
  WireVerdict verdict;
  verdict.kind = WireVerdict::Kind::safe;
  verdict.order = events_of(graph, pairing, order);
  return verdict;
}

}  // namespace ripeline::wire
