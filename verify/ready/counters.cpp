// The counters of a program; counters.h explains why they suffice.
#include "verify/ready/counters.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/guards.h"
#include "spec/long_work.h"
#include "verify/ready/invariant.h"
#include "verify/ready/need_facts.h"
#include "verify/ready/prefixes.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// By pool: the amount that started tasks have acquired, minus the amount that ended ones released.
std::vector<Linear> count_held(const Program& program) {
  std::vector<Linear> held(program.pools.size());
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    for (const auto& a : at(program.lanes, lane).acquires) at(held, a.pool).add(lane, a.amount);
    for (const auto& r : at(program.lanes, lane).releases) at(held, r.pool).add(lane, -r.amount);
  }
  return held;
}

// True if the next message that the consumer takes gets a slot once it is sent, since all earlier
// messages of the edge have been taken.
bool arrives_next(const Program& program, const Prefixes& prefixes, const spec::Edge& edge) {
  const auto shares_slots = [&edge](const spec::Edge& other) { return other.inbox == edge.inbox; };
  return edge.of == spec::Of::same && edge.fifo && prefixes.is_prefix(edge.producer) &&
         prefixes.is_prefix(edge.consumer) &&
         std::count_if(program.edges.begin(), program.edges.end(), shares_slots) == 1;
}

}  // namespace

Counters count(const Program& program) {
  const std::vector<spec::Guards> guards = spec::guards_of(program);
  const Prefixes prefixes(program, guards);
  const NeedFacts needs(program, prefixes);
  const LinkFacts links(program, prefixes, needs);
  Counters counters;
  counters.variables = links.variables();
  counters.shared = links.shared();
  counters.held = count_held(program);
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    spec::stop_point();
    const spec::Guards& own = at(guards, lane);
    const Linear left = has_one_left(program, lane);
    StartFacts facts{{left}, {{left}}};
    const NeedFacts::Needs needed = needs.add(lane, own.needs, facts);
    const bool exact_by_slots = links.add(lane, own.needs, needed.offers, facts);
    for (const spec::RoomGuard& guard : own.rooms) {
      Linear room;
      room.add(at(counters.held, guard.pool), -1);
      room.constant = guard.room.most_held();
      facts.require(room);
    }
    if (!needed.exact || !exact_by_slots) counters.inexact.push_back(lane);
    counters.starts.push_back(std::move(facts));
  }
  counters.invariant = invariant_of(program, guards, counters.held);
  return counters;
}

std::optional<std::string> beyond_counters(const Program& program) {
  std::optional<Prefixes> prefixes;
  for (const spec::Edge& e : program.edges) {
    if (!program.crosses_shares(e) || (e.of == spec::Of::same && e.inbox < 0)) continue;
    if (!prefixes) prefixes.emplace(program, spec::guards_of(program));
    if (arrives_next(program, *prefixes, e)) continue;
    return fmt::format("{} needs {}, which has other microbatches, {}",
                       program.lane_name(e.consumer), program.lane_name(e.producer),
                       e.inbox < 0 ? "of the one before" : "over a bounded link");
  }
  return std::nullopt;
}

}  // namespace ripeline::verify
