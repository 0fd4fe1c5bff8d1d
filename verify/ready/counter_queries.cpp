// The counters as terms of a solver; counters.cpp makes them.
#include "verify/ready/counter_queries.h"

#include <algorithm>

#include <fmt/format.h>

#include "spec/indexing.h"
#include "verify/solver/share_terms.h"

namespace ripeline::verify {

using spec::Program;

CounterQueries::CounterQueries(const Program& program, SolverUse use)
    : CounterQueries(program, count(program), std::move(use)) {}

CounterQueries::CounterQueries(const Program& program, Counters counters, SolverUse use)
    : program_(program),
      counters_(std::move(counters)),
      guards_(spec::guards_of(program)),
      solver_(use) {
  microbatches_ = solver_.integer("microbatches");
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    done_.push_back(solver_.integer("done " + program.lane_name(lane)));
  }
  for (int v = size_of(program.lanes); v < counters_.variables; ++v) {
    arrived_.push_back(solver_.integer(fmt::format("arrived {}", v - size_of(program.lanes))));
  }
  solver_.require(solver_.number(program.microbatches.min) <= microbatches_);
  if (program.microbatches.max) {
    solver_.require(microbatches_ <= solver_.number(*program.microbatches.max));
  }
  before_invariant_ = use.writes ? solver_.required() : 0;
  for (const Linear& fact : counters_.invariant) {
    solver_.require(solver_.number(0) <= term(fact));
  }
}

Term CounterQueries::term(const Linear& linear) {
  std::vector<Term> parts;
  for (const auto& [lane, factor] : linear.lanes) {
    if (factor == 0) continue;
    const Term count =
        lane < size_of(done_) ? at(done_, lane) : at(arrived_, lane - size_of(done_));
    parts.push_back(factor == 1 ? count : factor * count);
  }
  for (const auto& [share, factor] : linear.microbatches) {
    if (factor != 0) parts.push_back(factor * below(solver_, share, microbatches_));
  }
  if (linear.constant != 0) parts.push_back(solver_.number(linear.constant));
  return solver_.sum(parts);
}

Term CounterQueries::may_start(int lane) {
  std::vector<Term> guards;
  for (const Linear& g : at(counters_.starts, lane).may)
    guards.push_back(solver_.number(0) <= term(g));
  return solver_.all_of(guards);
}

// The base case is arithmetic. The step: if the invariant holds (it is required from the start) and
// a task of the lane may start, no solution may have a fact that is negative afterwards. Ends and
// arrivals change no count, so starts are the only events to check.
bool CounterQueries::invariant_is_inductive() {
  for (const Linear& fact : counters_.invariant) {
    // Before the first task all counts are 0. There is a microbatch, but a share may have none.
    std::int64_t least = fact.constant;
    for (const auto& [share, factor] : fact.microbatches) {
      if (factor < 0) return false;
      least += factor * share.below(1);
    }
    if (least < 0) return false;
  }
  // The queries are only about facts that a start can falsify. Each lane has its own query, since
  // one query for all lanes is slower.
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    const Facts& may = at(counters_.starts, lane).may;
    std::vector<Term> broken;
    for (const Linear& fact : counters_.invariant) {
      const std::int64_t factor = fact.factor_of(lane);
      if (factor >= 0) continue;
      Linear after = fact;
      after.constant += factor;
      const bool is_guard = std::any_of(may.begin(), may.end(), [&](const Linear& g) {
        return g.lanes == after.lanes && g.microbatches == after.microbatches &&
               g.constant <= after.constant;
      });
      if (!is_guard) broken.push_back(term(after) < solver_.number(0));
    }
    if (broken.empty()) continue;
    const Answer kept = solver_.check("invariant: kept by " + program_.lane_name(lane),
                                      {may_start(lane), solver_.any_of(broken)});
    if (kept != Answer::unsat) return false;
  }
  return true;
}

Term CounterQueries::at_start() {
  std::vector<Term> facts;
  for (const Term& done : done_) facts.push_back(done == solver_.number(0));
  return solver_.all_of(facts);
}

Term CounterQueries::invariant_broken() {
  std::vector<Term> broken;
  for (const Linear& fact : counters_.invariant) {
    broken.push_back(term(fact) < solver_.number(0));
  }
  return solver_.any_of(broken);
}

Term CounterQueries::broken_by_start(int lane) {
  std::vector<Term> broken;
  for (const Linear& fact : counters_.invariant) {
    Linear after = fact;
    after.constant += fact.factor_of(lane);
    broken.push_back(term(after) < solver_.number(0));
  }
  return solver_.all_of({may_start(lane), solver_.any_of(broken)});
}

// Every way to start is blocked by at least one of its facts, which are from `must`, not from
// `may`: a lane counts as blocked unless it certainly may start. So a proof that no state is stuck
// holds for inexact lanes too, and a solution may be an unreachable state.
std::vector<Term> CounterQueries::blocked(int lane) {
  std::vector<Term> ways;
  for (const Facts& way : at(counters_.starts, lane).must) {
    std::vector<Term> broken;
    for (const Linear& g : way) broken.push_back(term(g) < solver_.number(0));
    ways.push_back(solver_.any_of(broken));
  }
  return ways;
}

Term CounterQueries::stuck() {
  std::vector<Term> parts;
  std::vector<Term> unfinished;
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    unfinished.push_back(at(done_, lane) < total_of(lane));
    for (const Term& fact : blocked(lane)) parts.push_back(fact);
  }
  parts.push_back(solver_.any_of(unfinished));
  add_quiescence(parts);
  return solver_.all_of(parts);
}

Term CounterQueries::total_of(int lane) { return term(tasks_of(program_, lane)); }

// Timing gives each edge some of the shared slots, which hold the edge's arrived messages; slots
// are free only if all messages have arrived.
void CounterQueries::add_quiescence(std::vector<Term>& parts) {
  for (const SharedSlots& shared : counters_.shared) {
    std::vector<Term> arrived;
    std::vector<Term> all;
    for (std::size_t i = 0; i < shared.arrived.size(); ++i) {
      Linear one;
      one.add(shared.arrived[i], 1);
      arrived.push_back(term(one));
      const Term pending = term(shared.pending[i]);
      parts.push_back(solver_.number(0) <= arrived.back());
      parts.push_back(arrived.back() <= pending);
      all.push_back(arrived.back() == pending);
    }
    const Term taken = solver_.sum(arrived);
    const Term slots = solver_.number(shared.slots);
    parts.push_back(taken <= slots);
    parts.push_back(solver_.any_of({taken == slots, solver_.all_of(all)}));
  }
}

bool CounterQueries::may_run_beside(int lane, int other) const {
  const std::vector<int>& beside = at(guards_, lane).beside;
  return std::find(beside.begin(), beside.end(), other) != beside.end();
}

// The amounts that other tasks on the rank may still hold while they run, though they count as
// ended: one sum for each way in which others run. One lane or a pair runs on another engine; on
// the lane's own engine, a lane that is paired with it runs.
std::vector<Term> CounterQueries::held_elsewhere(int lane, int pool) {
  const spec::Lane& l = at(program_.lanes, lane);
  std::vector<Term> sums = {solver_.number(0)};
  for (const spec::Engine engine : spec::kAllEngines) {
    std::vector<int> others;  // lanes that release to the pool
    std::vector<Term> held;
    for (int other = program_.first_lane(l.rank); other < program_.first_lane(l.rank + 1);
         ++other) {
      const spec::Lane& o = at(program_.lanes, other);
      const bool runs = engine != l.engine || may_run_beside(lane, other);
      if (o.engine != engine || !runs) continue;
      for (const auto& r : o.releases) {
        if (r.pool != pool) continue;
        others.push_back(other);
        held.push_back(if_then_else(solver_.number(1) <= at(done_, other), solver_.number(r.amount),
                                    solver_.number(0)));
      }
    }
    std::vector<Term> ways = held;
    for (std::size_t i = 0; i < others.size() && engine != l.engine; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (may_run_beside(others[i], others[j])) ways.push_back(held[i] + held[j]);
      }
    }
    const std::size_t before = sums.size();
    for (const Term& way : ways) {
      for (std::size_t i = 0; i < before; ++i) sums.push_back(sums[i] + way);
    }
  }
  return sums;
}

// A pool's amount is greatest just after a start. Then the task's own amount is added to the amount
// by counts, and so are amounts that tasks beside it have not released yet.
std::vector<Term> CounterQueries::starts_above(int lane, int pool, Term bound) {
  std::vector<Term> ways;
  for (const auto& a : at(program_.lanes, lane).acquires) {
    if (a.pool != pool) continue;
    const auto room = room_in(at(guards_, lane), pool);
    const Term after = term(at(counters_.held, pool)) + solver_.number(a.amount);
    const std::vector<Term> sums = held_elsewhere(lane, pool);  // the first sum is 0
    for (std::size_t i = 0; i < sums.size(); ++i) {
      std::vector<Term> facts = {may_start(lane), bound < after + sums[i]};
      // The amounts still held were also held when the task was admitted, and there was room then.
      if (room && i > 0) {
        facts.push_back(after + sums[i] <= solver_.number(room->most_held_after()));
      }
      ways.push_back(solver_.all_of(facts));
    }
  }
  return ways;
}

Term CounterQueries::start_above(int pool, Term bound) {
  std::vector<Term> starts;
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    for (const Term& way : starts_above(lane, pool, bound)) starts.push_back(way);
  }
  return solver_.any_of(starts);
}

Term CounterQueries::holds_above(int pool, Term bound) {
  std::vector<Term> ways = {bound < term(at(counters_.held, pool))};
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    const spec::Lane& l = at(program_.lanes, lane);
    // Counts omit room that a task acquires and releases itself, since it is held only while the
    // task runs, and room that a task beside it, on another engine, has not released yet.
    const bool returns = std::any_of(l.releases.begin(), l.releases.end(),
                                     [pool](const auto& r) { return r.pool == pool; });
    const bool beside = held_elsewhere(lane, pool).size() > 1;
    if (!returns && !beside) continue;
    for (const Term& way : starts_above(lane, pool, bound)) ways.push_back(way);
  }
  return solver_.any_of(ways);
}

std::vector<std::int64_t> CounterQueries::counts() const {
  std::vector<std::int64_t> values;
  for (const Term& done : done_) values.push_back(solver_.value(done));
  return values;
}

Term CounterQueries::differs(const std::vector<std::int64_t>& counts) {
  std::vector<Term> ways;
  for (int lane = 0; lane < size_of(done_); ++lane) {
    ways.push_back(!(at(done_, lane) == solver_.number(at(counts, lane))));
  }
  return solver_.any_of(ways);
}

}  // namespace ripeline::verify
