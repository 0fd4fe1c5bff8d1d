#include "codegen/outline.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "core/vocabulary/index.h"
#include "spec/guards.h"

namespace ripeline::codegen {
namespace {

using spec::Program;

// A pool's place among its resource's: the tables are by stage or rank.
void check_pools(const Program& program) {
  for (std::size_t i = 0, first = 0; i < program.pools.size(); ++i) {
    const spec::Pool& pool = program.pools[i];
    if (i > 0 && pool.resource != program.pools[i - 1].resource) first = i;
    const bool per_rank = at(program.resources, pool.resource).per_rank;
    if (index(per_rank ? pool.rank : pool.stage) == i - first) continue;
    std::fputs("ripeline: a bug: the pools of a resource are not in order\n", stderr);
    std::abort();
  }
}

std::vector<BoundedResource> bounded_of(const Program& program) {
  std::vector<BoundedResource> bounded;
  for (int resource = 0; resource < static_cast<int>(program.resources.size()); ++resource) {
    BoundedResource b{resource, -1, {}};
    for (int i = 0; i < static_cast<int>(program.pools.size()); ++i) {
      const spec::Pool& pool = at(program.pools, i);
      if (pool.resource != resource || !pool.capacity) continue;
      if (b.capacity.empty()) b.first_pool = i;
      b.capacity.push_back(*pool.capacity);
    }
    const bool acquired =
        std::any_of(program.lanes.begin(), program.lanes.end(), [&](const spec::Lane& lane) {
          return std::any_of(lane.acquires.begin(), lane.acquires.end(), [&](const auto& a) {
            return at(program.pools, a.pool).resource == resource;
          });
        });
    if (acquired && !b.capacity.empty()) bounded.push_back(std::move(b));
  }
  return bounded;
}

void add_room(const Program& program, std::vector<Room>& rooms, const spec::Lane& lane,
              const spec::RoomGuard& guard) {
  const int resource = at(program.pools, guard.pool).resource;
  auto room = std::find_if(rooms.begin(), rooms.end(),
                           [&](const Room& r) { return r.resource == resource; });
  if (room == rooms.end()) {
    const std::vector<std::int64_t> none(program.stages.size(), 0);
    room = rooms.insert(rooms.end(), {resource, none, none});
  }
  room->amount[index(lane.stage)] = guard.room.amount;
  room->leaving[index(lane.stage)] = guard.room.leaving;
}

void add_giving(const Outline& outline, std::vector<ReleaseTable>& givings, const spec::Lane& lane,
                const spec::Release& release) {
  const Program& program = outline.program;
  const int resource = at(program.pools, release.pool).resource;
  const bool counted =
      std::any_of(outline.bounded.begin(), outline.bounded.end(),
                  [&](const BoundedResource& b) { return b.resource == resource; });
  if (!counted) return;
  auto giving = std::find_if(givings.begin(), givings.end(),
                             [&](const ReleaseTable& g) { return g.resource == resource; });
  if (giving == givings.end()) {
    giving = givings.insert(givings.end(),
                            {resource, std::vector<std::int64_t>(program.stages.size(), 0)});
  }
  giving->amount[index(lane.stage)] = release.amount;
}

// The two names joined, and where that is some other pair's name too, with a number after it.
void add_pair_name(Outline& outline, std::set<std::string>& taken, int op, int resource) {
  if (outline.pair_names.contains({op, resource})) return;
  const std::string joined =
      at(outline.program.ops, op).name + "_" + at(outline.program.resources, resource).name;
  std::string name = joined;
  for (int n = 2; !taken.insert(name).second; ++n) name = joined + "_" + std::to_string(n);
  outline.pair_names[{op, resource}] = name;
}

void add_pair_names(Outline& outline) {
  std::set<std::string> taken;
  for (int op = 0; op < static_cast<int>(outline.rooms.size()); ++op) {
    for (const Room& room : at(outline.rooms, op)) {
      add_pair_name(outline, taken, op, room.resource);
    }
    for (const ReleaseTable& giving : at(outline.givings, op)) {
      add_pair_name(outline, taken, op, giving.resource);
    }
  }
}

}  // namespace

Outline outline_of(const Program& program) {
  check_pools(program);
  Outline outline{.program = program, .bounded = {}, .rooms = {}, .givings = {}, .pair_names = {}};
  outline.bounded = bounded_of(program);
  outline.rooms.resize(program.ops.size());
  outline.givings.resize(program.ops.size());
  for (int i = 0; i < static_cast<int>(program.lanes.size()); ++i) {
    const spec::Lane& lane = at(program.lanes, i);
    for (const spec::RoomGuard& guard : guards_of(program, i).rooms) {
      add_room(program, outline.rooms[index(lane.op)], lane, guard);
    }
    for (const spec::Release& release : lane.releases) {
      add_giving(outline, outline.givings[index(lane.op)], lane, release);
    }
  }
  add_pair_names(outline);
  return outline;
}

std::string number_table(const Outline& outline, const char* what, int op, int resource) {
  return std::string(what) + "_" + outline.pair_names.at({op, resource});
}

std::optional<std::int64_t> same(const std::vector<std::int64_t>& values) {
  const bool all = std::all_of(values.begin(), values.end(),
                               [&](std::int64_t value) { return value == values.front(); });
  return all && !values.empty() ? std::optional(values.front()) : std::nullopt;
}

std::optional<std::int64_t> same_at(const Outline& outline, int op,
                                    const std::vector<std::int64_t>& by_stage) {
  std::vector<std::int64_t> there;
  for (int stage = 0; stage < static_cast<int>(by_stage.size()); ++stage) {
    if (outline.program.lane_of(op, stage) >= 0) there.push_back(by_stage[index(stage)]);
  }
  return same(there);
}

int dispatched_order(const Program& program) {
  const spec::Dispatch& dispatch = program.dispatch;
  if (dispatch.binding() >= 0) return dispatch.binding();
  return dispatch.hint.rule == spec::Hint::Rule::order ? dispatch.hint.order : -1;
}

std::string op_constant(const Program& program, int op) {
  return "ops::k" + at(program.ops, op).name;
}

}  // namespace ripeline::codegen
