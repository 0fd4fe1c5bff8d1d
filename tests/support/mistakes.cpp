#include "tests/support/mistakes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "spec/guards.h"
#include "verify/judge/judge.h"
#include "verify/judge/peaks.h"
#include "verify/order/kept_judge.h"
#include "verify/order/order_judge.h"
#include "verify/ready/counter_queries.h"
#include "verify/ready/ready_judge.h"

namespace ripeline::testing_support {

using spec::Program;
using verify::Counters;
using verify::Facts;
using verify::Finding;
using verify::Judge;
using verify::Linear;
using verify::MemoryFinding;

namespace {

bool is_same(const Linear& a, const Linear& b) {
  return a.lanes == b.lanes && a.microbatches == b.microbatches && a.constant == b.constant;
}

// Whether the fact is the invariant's claim about a pool as a whole.
bool is_room(const Linear& fact, const Program& program, const Counters& counters) {
  for (int pool = 0; pool < size_of(program.pools); ++pool) {
    const auto& capacity = at(program.pools, pool).capacity;
    if (!capacity) continue;
    Linear room;
    room.add(at(counters.held, pool), -1).constant = *capacity;
    if (is_same(fact, room)) return true;
  }
  return false;
}

// The first fact about pools. Such facts end the invariant: each pool as a whole, then its parts.
std::vector<Linear>::iterator first_reserve(const Program& program, Counters& counters) {
  return std::find_if(counters.invariant.begin(), counters.invariant.end(),
                      [&](const Linear& fact) { return is_room(fact, program, counters); });
}

// A judge that calls every order proved.
class Trusting final : public Judge {
 public:
  Finding deadlock() override { return verify::by_structure(); }
  MemoryFinding memory() override { return {verify::by_structure()}; }
};

}  // namespace

namespace mistakes {

Mistake swapped_release() {
  return {.program = [](Program& program) {
    for (spec::Lane& lane : program.lanes) {
      lane.releases.clear();
      for (const spec::Acquire& a : lane.acquires) lane.releases.push_back({a.pool, a.amount});
    }
  }};
}

Mistake missing_release() {
  return {.program = [](Program& program) {
    for (spec::Lane& lane : program.lanes) lane.releases.clear();
  }};
}

Mistake capacities(std::int64_t more) {
  return {.program = [more](Program& program) {
    for (spec::Pool& pool : program.pools) {
      if (pool.capacity) *pool.capacity += more;
    }
  }};
}

Mistake dropped_room() {
  return {.program = [](Program& program) {
    for (spec::Pool& pool : program.pools) pool.capacity.reset();
  }};
}

Mistake dropped_need() {
  return {.program = [](Program& program) {
    for (spec::Lane& lane : program.lanes) {
      if (!lane.edges.empty()) lane.edges.pop_back();
    }
  }};
}

Mistake reversed_need() {
  return {.counters = [](const Program& program, Counters& counters) {
    for (int lane = 0; lane < size_of(counters.starts); ++lane) {
      // A need of all microbatches has its fact after the facts of the other needs.
      std::vector<int> needs = spec::guards_of(program, lane).needs;
      std::erase_if(needs, [&](int e) { return at(program.edges, e).of == spec::Of::all; });
      if (needs.empty()) continue;
      verify::StartFacts& facts = at(counters.starts, lane);
      Linear& last = facts.may[needs.size()];  // facts.may[0] claims that a task is left
      const Linear right = last;
      last = verify::is_ahead(lane, at(program.edges, needs.back()).producer);
      for (Facts& way : facts.must) {
        std::replace_if(
            way.begin(), way.end(), [&](const Linear& fact) { return is_same(fact, right); }, last);
      }
    }
  }};
}

Mistake ignored_leaving() {
  return {.program = [](Program& program) {
    for (spec::Lane& lane : program.lanes) {
      for (spec::Acquire& a : lane.acquires) a.leaving = 0;
    }
  }};
}

Mistake amounts_of_one() {
  return {.program = [](Program& program) {
    for (spec::Lane& lane : program.lanes) {
      for (spec::Acquire& a : lane.acquires) a.amount = 1;
      for (spec::Release& r : lane.releases) r.amount = 1;
    }
  }};
}

Mistake slots(std::int64_t more) {
  return {.program = [more](Program& program) {
    for (spec::Inbox& inbox : program.inboxes) inbox.slots += more;
  }};
}

Mistake slots_forgotten() {
  return {.program = [](Program& program) {
    for (spec::Edge& edge : program.edges) edge.inbox = -1;
  }};
}

Mistake overtaking_forgotten() {
  return {.program = [](Program& program) {
    for (spec::Edge& edge : program.edges) edge.fifo = true;
  }};
}

Mistake range_from_one() {
  return {.program = [](Program& program) { program.microbatches.min = 1; }};
}

Mistake bounds(std::int64_t more) {
  return {.program = [more](Program& program) {
    for (spec::PeakAssertion& assertion : program.assertions) {
      assertion.bound = spec::Expr::binary("+", assertion.bound, spec::Expr::number(more));
    }
  }};
}

Mistake taken_for_exact() {
  return {.counters = [](const Program&, Counters& counters) {
    for (const int lane : counters.inexact) {
      verify::StartFacts& facts = at(counters.starts, lane);
      facts.must = {facts.may};
    }
    counters.inexact.clear();
  }};
}

Mistake assumed_room() {
  return {.counters = [](const Program& program, Counters& counters) {
    for (Linear& fact : counters.invariant) {
      if (is_room(fact, program, counters)) --fact.constant;
    }
  }};
}

Mistake reserve_forgotten() {
  return {.counters = [](const Program& program, Counters& counters) {
    const auto begin = first_reserve(program, counters);
    counters.invariant.erase(
        std::remove_if(begin, counters.invariant.end(),
                       [&](const Linear& fact) { return !is_room(fact, program, counters); }),
        counters.invariant.end());
  }};
}

Mistake assumed_reserve() {
  return {.counters = [](const Program& program, Counters& counters) {
    for (auto fact = first_reserve(program, counters); fact != counters.invariant.end(); ++fact) {
      if (!is_room(*fact, program, counters)) --fact->constant;
    }
  }};
}

Mistake classes_forgotten() { return {.divides = false}; }

Mistake free_class() {
  return {.classes = [](verify::ByClasses& classes) {
    const spec::Share last = classes.program.lanes.back().share;
    for (spec::Lane& lane : classes.program.lanes) {
      if (lane.share == last) lane.acquires.clear();
      if (lane.share == last) lane.releases.clear();
    }
  }};
}

Mistake one_lane_forgotten() {
  return {.counters = [](const Program&, Counters& counters) { counters.starts.back().must = {}; }};
}

Mistake place_forgotten() {
  return {.repeat = [](verify::Repeat& repeat) {
    if (!repeat.positions.empty()) repeat.positions.pop_back();
  }};
}

Mistake counts_ahead() {
  return {.repeat = [](verify::Repeat& repeat) {
    for (verify::PositionInTurn& position : repeat.positions) ++position.passed;
  }};
}

}  // namespace mistakes

verify::Verdict judged_with(const Mistake& mistake, const Program& program,
                            const verify::VerifyOptions& options) {
  Program asked = program;
  if (mistake.program) mistake.program(asked);
  const Program committed =
      program.dispatch.keeps >= 0 ? verify::committed_to_kept(program) : Program();
  std::unique_ptr<Judge> judge;
  if (program.dispatch.keeps >= 0) {
    std::unique_ptr<Judge> of_order;
    if (mistake.trusts_order) {
      of_order = std::make_unique<Trusting>();
    } else {
      of_order = std::make_unique<verify::OrderJudge>(committed, options);
    }
    judge = std::make_unique<verify::KeptJudge>(
        program, options, std::move(of_order),
        mistake.covers_all ? std::nullopt : verify::beyond_kept_order(program));
  } else if (program.dispatch.in_order) {
    judge = std::make_unique<verify::OrderJudge>(program, options,
                                                 verify::CutInput(asked, mistake.repeat));
  } else {
    auto classes = mistake.divides ? verify::by_classes(asked) : nullptr;
    if (classes && mistake.classes) mistake.classes(*classes);
    const Program& counted = classes ? classes->program : asked;
    Counters counters = verify::count(counted);
    if (mistake.counters) mistake.counters(counted, counters);
    auto queries = std::make_unique<verify::CounterQueries>(counted, std::move(counters),
                                                            options.solver_steps);
    judge = std::make_unique<verify::ReadyJudge>(program, options, std::move(classes),
                                                 std::move(queries));
  }
  return verify::judged_by(*judge, program, [&](const MemoryFinding& memory) {
    return verify::peaks_of(program, options, memory);
  });
}

}  // namespace ripeline::testing_support
