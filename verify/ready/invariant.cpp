#include "verify/ready/invariant.h"

#include <set>

#include "spec/long_work.h"
#include "verify/ready/holders.h"
#include "verify/ready/need_facts.h"
#include "verify/ready/start_facts.h"

namespace ripeline::verify {

using spec::Program;

namespace {

// Each lane has ended between 0 and all of its tasks, and no lane has run ahead of a producer.
void add_counts(const Program& program, int lane, const std::vector<int>& needs,
                std::vector<Linear>& facts) {
  Linear not_negative;
  facts.push_back(not_negative.add(lane, 1));
  Linear at_most_all = has_one_left(program, lane);
  ++at_most_all.constant;
  facts.push_back(at_most_all);
  for (const int edge : needs) {
    const spec::Edge& e = at(program.edges, edge);
    if (e.of == spec::Of::all) continue;  // no sum expresses this need
    Linear ordered = is_ahead(e.producer, lane);
    ordered.constant += e.of == spec::Of::before ? 2 : 1;
    if (program.crosses_shares(e)) add_unneeded(ordered, program, e);
    facts.push_back(ordered);
  }
}

// The pool's capacity, and for each n > 0 a bound of the parts beside which at least n stays free.
void add_room(const Program& program, const std::vector<spec::Guards>& guards, int pool,
              const Linear& held, std::vector<Linear>& facts) {
  const std::int64_t capacity = *at(program.pools, pool).capacity;
  const auto at_most = [&facts](std::int64_t most) -> Linear& {
    facts.emplace_back().constant = most;
    return facts.back();
  };
  at_most(capacity).add(held, -1);
  const std::vector<Holder> holders = holders_of(program, guards, pool, held);
  // Visits each part with the room that is free beside this part and all parts released later.
  const auto each_part = [&holders](const auto& visit) {
    for (const Holder& holder : holders) {
      std::int64_t free = holder.free_beside;
      for (const HeldPart& part : holder.parts) {
        visit(part, free);
        free += part.amount;
      }
    }
  };
  std::set<std::int64_t> left_free;
  each_part([&](const HeldPart&, std::int64_t free) { left_free.insert(free); });
  for (const std::int64_t n : left_free) {
    if (n == 0) continue;
    Linear& reserved = at_most(capacity - n);
    each_part([&](const HeldPart& part, std::int64_t free) {
      if (free >= n) reserved.add(part.held, -1);
    });
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
    spec::stop_point();
    if (at(program.pools, pool).capacity) {
      add_room(program, guards, pool, at(held, pool), facts);
    }
  }
  return facts;
}

}  // namespace ripeline::verify
