#include "verify/group/reductions.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/indexing.h"

namespace ripeline::verify {

using spec::Lane;
using spec::Program;

namespace {

spec::Span span_of(const Program& program, int lane) {
  return at(program.ops, at(program.lanes, lane).op).span;
}

// The lanes whose tasks wait for other replicas, directly or through tasks that they need.
std::vector<bool> waiting(const Program& program) {
  std::vector<bool> found(program.lanes.size(), false);
  std::vector<int> open;
  const auto add = [&](int lane) {
    if (found[static_cast<std::size_t>(lane)]) return;
    found[static_cast<std::size_t>(lane)] = true;
    open.push_back(lane);
  };
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    if (program.reduces(lane)) add(lane);
  }
  while (!open.empty()) {
    const int lane = open.back();
    open.pop_back();
    for (const int edge : at(program.lanes, lane).feeds) add(at(program.edges, edge).consumer);
  }
  return found;
}

// A pool with a capacity that lanes of several engines acquire, or -1.
int pool_of_several_engines(const Program& program) {
  std::vector<std::optional<spec::Engine>> engines(program.pools.size());
  for (const Lane& lane : program.lanes) {
    for (const spec::Acquire& a : lane.acquires) {
      if (!at(program.pools, a.pool).capacity) continue;
      auto& engine = engines[static_cast<std::size_t>(a.pool)];
      if (engine && *engine != lane.engine) return a.pool;
      engine = lane.engine;
    }
  }
  return -1;
}

}  // namespace

Reductions::Reductions(const Program& program) : program_(program), waits_(waiting(program)) {
  any_ = std::find(waits_.begin(), waits_.end(), true) != waits_.end();
}

std::optional<Doubt> Reductions::doubt() const {
  if (!any_) return std::nullopt;
  if (in_order()) return doubt_of_order();
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    if (!waits_[static_cast<std::size_t>(lane)]) continue;
    if (auto doubt = doubt_of_engine(lane)) return doubt;
    if (auto doubt = doubt_of_pools(lane)) return doubt;
    if (auto doubt = doubt_of_links(lane)) return doubt;
    if (auto doubt = doubt_of_members(lane)) return doubt;
  }
  return std::nullopt;
}

// Ended tasks alone must decide how much room each engine's next task finds in pools and inboxes.
std::optional<Doubt> Reductions::doubt_of_order() const {
  if (const int pool = pool_of_several_engines(program_); pool >= 0) {
    return Doubt{
        fmt::format("{} is acquired on several engines, so timing may give it to different "
                    "tasks at different replicas.",
                    program_.pool_name(pool)),
        at(program_.resources, at(program_.pools, pool).resource).span};
  }
  for (const int edge : GroupConditions(program_).edges_that_must_fit()) {
    const spec::Edge& e = at(program_.edges, edge);
    return Doubt{
        fmt::format("Replicas may hold different messages in {}.", program_.inbox_name(e.inbox)),
        e.span};
  }
  return std::nullopt;
}

// A reduction waits for other replicas, so its engine must run reductions only.
std::optional<Doubt> Reductions::doubt_of_engine(int lane) const {
  const Lane& own = at(program_.lanes, lane);
  if (!program_.reduces(lane)) return std::nullopt;
  for (int other = program_.first_lane(own.rank); other < program_.first_lane(own.rank + 1);
       ++other) {
    if (at(program_.lanes, other).engine != own.engine || program_.reduces(other)) continue;
    return Doubt{fmt::format("{} waits for the other replicas on the engine of {}.",
                             program_.lane_name(lane), program_.lane_name(other)),
                 span_of(program_, lane)};
  }
  return std::nullopt;
}

std::optional<Doubt> Reductions::doubt_of_pools(int lane) const {
  for (const spec::Use& use : uses_of(at(program_.lanes, lane))) {
    if (!at(program_.pools, use.pool).capacity) continue;
    return Doubt{fmt::format("{} waits for other replicas and {} {}, which tasks may need that "
                             "those replicas wait for.",
                             program_.lane_name(lane), use.acquires > 0 ? "acquires" : "releases",
                             program_.pool_name(use.pool)),
                 span_of(program_, lane)};
  }
  return std::nullopt;
}

std::optional<Doubt> Reductions::doubt_of_links(int lane) const {
  for (const int edge : at(program_.lanes, lane).edges) {
    const spec::Edge& e = at(program_.edges, edge);
    if (e.inbox < 0) continue;
    return Doubt{fmt::format("{} waits for other replicas, and its messages take {}.",
                             program_.lane_name(lane), program_.inbox_name(e.inbox)),
                 e.span};
  }
  return std::nullopt;
}

// If members agree on the engine, it could wait for a task that other replicas still need.
std::optional<Doubt> Reductions::doubt_of_members(int lane) const {
  if (program_.tensor_parallel.members == 1) return std::nullopt;
  const Lane& own = at(program_.lanes, lane);
  bool agreed = false;
  for (int other = program_.first_lane(own.rank); other < program_.first_lane(own.rank + 1);
       ++other) {
    const Lane& l = at(program_.lanes, other);
    agreed = agreed || (l.engine == own.engine && l.collectives > 0);
  }
  if (!agreed) return std::nullopt;
  return Doubt{fmt::format("{} waits for other replicas, on an engine with collectives of members.",
                           program_.lane_name(lane)),
               span_of(program_, lane)};
}

}  // namespace ripeline::verify
