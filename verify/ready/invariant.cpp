#include "verify/ready/invariant.h"

#include <algorithm>
#include <map>

#include "verify/ready/need_facts.h"
#include "verify/ready/start_facts.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// Between 0 and all of its tasks have ended, and nobody has run ahead of a producer.
void add_counts(const Program& program, int lane, const std::vector<int>& needs,
                std::vector<Linear>& facts) {
  Linear not_negative;
  facts.push_back(not_negative.add(lane, 1));
  Linear at_most_all = has_one_left(program, lane);
  ++at_most_all.constant;
  facts.push_back(at_most_all);
  for (const int edge : needs) {
    const spec::Edge& e = at(program.edges, edge);
    if (e.of == spec::Of::all) continue;  // no sum says it
    Linear ordered = is_ahead(e.producer, lane);
    ordered.constant += e.of == spec::Of::before ? 2 : 1;
    if (program.crosses_shares(e)) add_unneeded(ordered, program, e);
    facts.push_back(ordered);
  }
}

// The pool's room, and what stages that leave some may hold of it.
void add_room(const Program& program, const std::vector<spec::Guards>& guards, int pool,
              const Linear& held, std::vector<Linear>& facts) {
  const std::int64_t capacity = *at(program.pools, pool).capacity;
  Linear room;
  room.add(held, -1);
  room.constant = capacity;
  facts.push_back(room);
  std::map<int, std::int64_t> least_leaving;  // per stage
  for (int lane = 0; lane < size_of(guards); ++lane) {
    const auto own = room_in(at(guards, lane), pool);
    if (!own) continue;
    const auto [it, fresh] = least_leaving.try_emplace(at(program.lanes, lane).stage, own->leaving);
    if (!fresh) it->second = std::min(it->second, own->leaving);
  }
  std::map<std::int64_t, std::vector<int>> stages_leaving;
  for (const auto& [stage, leaving] : least_leaving) {
    if (leaving > 0) stages_leaving[leaving];
  }
  for (auto& [n, stages] : stages_leaving) {
    for (const auto& [stage, leaving] : least_leaving) {
      if (leaving >= n) stages.push_back(stage);
    }
    Linear reserved;
    for (const auto& [lane, factor] : held.lanes) {
      const int stage = at(program.lanes, lane).stage;
      if (std::find(stages.begin(), stages.end(), stage) != stages.end()) {
        reserved.add(lane, -factor);
      }
    }
    reserved.constant = capacity - n;
    facts.push_back(reserved);
  }
}

}  // namespace

std::vector<Linear> invariant_of(const Program& program, const std::vector<spec::Guards>& guards,
                                 const std::vector<Linear>& held) {
  std::vector<Linear> facts;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    add_counts(program, lane, at(guards, lane).needs, facts);
  }
  for (int pool = 0; pool < size_of(program.pools); ++pool) {
    if (at(program.pools, pool).capacity) {
      add_room(program, guards, pool, at(held, pool), facts);
    }
  }
  return facts;
}

}  // namespace ripeline::verify
