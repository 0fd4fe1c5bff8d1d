#include "spec/guards.h"

#include "spec/long_work.h"

namespace ripeline::spec {

Guards guards_of(const Program& program, int lane) {
  const Lane& l = at(program.lanes, lane);
  Guards guards;
  guards.needs = l.edges;
  guards.in_sequence = l.sequential;
  for (const Acquire& a : l.acquires) {
    const auto& capacity = at(program.pools, a.pool).capacity;
    if (capacity) guards.rooms.push_back({a.pool, {*capacity, a.amount, a.leaving}});
  }
  guards.in_turn = program.dispatch.in_order;
  guards.keeps_room = program.dispatch.keeps >= 0;
  if (program.pairs.empty()) return guards;
  for (int other = program.first_lane(l.rank); other < program.first_lane(l.rank + 1); ++other) {
    if (program.pair_of(lane, other) != nullptr) guards.beside.push_back(other);
  }
  return guards;
}

std::vector<Guards> guards_of(const Program& program) {
  std::vector<Guards> guards;
  guards.reserve(program.lanes.size());
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    stop_point();
    guards.push_back(guards_of(program, lane));
  }
  return guards;
}

std::optional<core::Room> room_in(const Guards& guards, int pool) {
  for (const RoomGuard& guard : guards.rooms) {
    if (guard.pool == pool) return guard.room;
  }
  return std::nullopt;
}

}  // namespace ripeline::spec
