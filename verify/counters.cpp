#include "verify/counters.h"

#include <map>

namespace ripeline::verify {

using spec::Program;

Linear& Linear::add(int lane, std::int64_t factor) {
  for (auto& [known, sum] : lanes) {
    if (known != lane) continue;
    sum += factor;
    return *this;
  }
  lanes.emplace_back(lane, factor);
  return *this;
}

Linear& Linear::add(const Linear& other, std::int64_t factor) {
  for (const auto& [lane, f] : other.lanes) add(lane, f * factor);
  microbatches += other.microbatches * factor;
  constant += other.constant * factor;
  return *this;
}

std::int64_t Linear::factor_of(int lane) const {
  for (const auto& [known, factor] : lanes) {
    if (known == lane) return factor;
  }
  return 0;
}

std::int64_t Linear::at(const std::vector<std::int64_t>& done,
                        std::int64_t microbatches_now) const {
  std::int64_t sum = constant + microbatches * microbatches_now;
  for (const auto& [lane, factor] : lanes) sum += factor * verify::at(done, lane);
  return sum;
}

namespace {

class Counting {
 public:
  Counting(const Program& program, Fault fault) : program_(program), fault_(fault) {}

  Counters run() {
    count_held();
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      std::vector<Linear> may = {ended_at_most(lane)};
      std::vector<Linear> must = may;
      add_needs(lane, may, must);
      add_room(lane, may, must);
      counters_.may.push_back(std::move(may));
      counters_.must.push_back(std::move(must));
    }
    add_invariant();
    return std::move(counters_);
  }

 private:
  std::int64_t amount(std::int64_t written) const {
    return fault_ == Fault::amount_of_one ? 1 : written;
  }

  void count_held() {
    counters_.held.resize(program_.pools.size());
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      for (const auto& a : at(program_.lanes, lane).acquires) {
        Linear& held = at(counters_.held, a.pool);
        held.add(lane, amount(a.amount));
        if (fault_ == Fault::swapped_release) held.add(lane, -amount(a.amount));
      }
      if (fault_ == Fault::swapped_release || fault_ == Fault::missing_release) continue;
      for (const auto& r : at(program_.lanes, lane).releases) {
        at(counters_.held, r.pool).add(lane, -amount(r.amount));
      }
    }
  }

  // M - done - 1: there is a microbatch left.
  Linear ended_at_most(int lane) const {
    Linear left;
    left.add(lane, -1);
    left.microbatches = 1;
    left.constant = -1;
    return left;
  }

  // done[producer] - done[lane] - 1.
  Linear behind(int lane, int producer) const {
    Linear difference;
    difference.add(producer, 1).add(lane, -1);
    difference.constant = -1;
    return difference;
  }

  std::vector<int> producers(int lane) const {
    std::vector<int> found;
    for (const int edge : at(program_.lanes, lane).edges) {
      found.push_back(at(program_.edges, edge).producer);
    }
    if (fault_ == Fault::dropped_need && !found.empty()) found.pop_back();
    return found;
  }

  const std::vector<int>& ancestors_of(int lane) {
    const auto [it, fresh] = ancestors_.try_emplace(lane);
    if (fresh) it->second = spec::ancestors(program_, lane);
    return it->second;
  }

  bool is_ancestor(int lane, int of) {
    const std::vector<int>& all = ancestors_of(of);
    return std::binary_search(all.begin(), all.end(), lane);
  }

  bool is_prefix(int lane) const { return at(program_.lanes, lane).sequential; }

  // The producers that no other one has for an ancestor: the others have ended whatever these have.
  std::vector<int> innermost(const std::vector<int>& needed) {
    std::vector<int> kept;
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const bool implied = std::any_of(needed.begin(), needed.end(), [&](int other) {
        return other != needed[i] && is_ancestor(needed[i], other);
      });
      const bool repeated = std::find(kept.begin(), kept.end(), needed[i]) != kept.end();
      if (!implied && !repeated) kept.push_back(needed[i]);
    }
    return kept;
  }

  void add_needs(int lane, std::vector<Linear>& may, std::vector<Linear>& must) {
    std::vector<int> needed = producers(lane);
    for (const int producer : needed) may.push_back(behind(lane, producer));
    if (fault_ == Fault::reversed_need && !needed.empty()) {
      may.back() = behind(needed.back(), lane);
    }
    needed = innermost(needed);
    std::vector<int> overtaking;  // done-sets that are no prefixes
    for (const int p : needed) {
      if (!is_prefix(p)) overtaking.push_back(p);
    }
    const bool in_sequence = is_prefix(lane) && fault_ != Fault::sequence_as_chains;
    const bool nested = needed.size() < 2 || overtaking.empty() || fault_ == Fault::joins_as_chains;
    if (nested && (!in_sequence || overtaking.empty())) {
      must.insert(must.end(), may.begin() + 1, may.end());
      return;
    }
    counters_.inexact.push_back(lane);
    if (in_sequence) {
      // Its next microbatch has surely ended at a producer that overtakes only once all have.
      for (const int p : needed) must.push_back(behind(lane, p));
      for (const int p : overtaking) {
        Linear all;
        all.add(p, 1);
        all.microbatches = -1;
        must.push_back(all);
      }
      return;
    }
    // k sets of M microbatches have at least (the sum of their sizes) - (k - 1) M in common.
    Linear common;
    for (const int p : needed) common.add(p, 1);
    common.add(lane, -1);
    common.microbatches = 1 - static_cast<std::int64_t>(needed.size());
    common.constant = -1;
    must.push_back(common);
  }

  std::int64_t capacity_of(const spec::Pool& pool) const {
    if (fault_ == Fault::capacity_too_large) return *pool.capacity + 1;
    if (fault_ == Fault::capacity_too_small) return *pool.capacity - 1;
    return *pool.capacity;
  }

  void add_room(int lane, std::vector<Linear>& may, std::vector<Linear>& must) const {
    if (fault_ == Fault::dropped_room) return;
    for (const auto& a : at(program_.lanes, lane).acquires) {
      const spec::Pool& pool = at(program_.pools, a.pool);
      if (!pool.capacity) continue;
      Linear room;
      room.add(at(counters_.held, a.pool), -1);
      const std::int64_t leaving = fault_ == Fault::ignored_leaving ? 0 : a.leaving;
      room.constant = capacity_of(pool) - amount(a.amount) - leaving;
      may.push_back(room);
      must.push_back(room);
    }
  }

  // Why it is inductive. Counts: a task starts only behind its producers, and its own count alone
  // rises. Room: a start is admitted only if held + amount + leaving <= capacity, and all else only
  // lowers what is held. Reserved room: for n > 0 let S be the stages all of whose lanes that
  // acquire from a pool leave at least n. When one of these starts, the pool's total afterwards is
  // at most capacity - n, and what S holds is at most the total, since no stage holds less than
  // nothing; otherwise what S holds only falls.
  void add_invariant() {
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      Linear not_negative;
      counters_.invariant.push_back(not_negative.add(lane, 1));
      Linear at_most_all = ended_at_most(lane);
      at_most_all.constant = 0;
      counters_.invariant.push_back(at_most_all);
      for (const int producer : producers(lane)) {
        Linear ordered = behind(lane, producer);
        ordered.constant = 0;
        counters_.invariant.push_back(ordered);
      }
    }
    for (int pool = 0; pool < size_of(program_.pools); ++pool) {
      if (!at(program_.pools, pool).capacity) continue;
      if (fault_ != Fault::dropped_room) add_pool_invariant(pool);
    }
  }

  void add_pool_invariant(int pool) {
    Linear room;
    room.add(at(counters_.held, pool), -1);
    room.constant = capacity_of(at(program_.pools, pool)) - (fault_ == Fault::assumed_room ? 1 : 0);
    counters_.invariant.push_back(room);
    if (fault_ == Fault::ignored_leaving) return;
    std::map<int, std::int64_t> least_leaving;  // per stage
    for (const spec::Lane& lane : program_.lanes) {
      for (const auto& a : lane.acquires) {
        if (a.pool != pool) continue;
        const auto [it, fresh] = least_leaving.try_emplace(lane.stage, a.leaving);
        if (!fresh) it->second = std::min(it->second, a.leaving);
      }
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
      for (const auto& [lane, factor] : at(counters_.held, pool).lanes) {
        const int stage = at(program_.lanes, lane).stage;
        if (std::find(stages.begin(), stages.end(), stage) != stages.end()) {
          reserved.add(lane, -factor);
        }
      }
      reserved.constant = capacity_of(at(program_.pools, pool)) - n;
      counters_.invariant.push_back(reserved);
    }
  }

  const Program& program_;
  Fault fault_;
  Counters counters_;
  std::map<int, std::vector<int>> ancestors_;
};

}  // namespace

Counters count(const Program& program, Fault fault) { return Counting(program, fault).run(); }

CounterQueries::CounterQueries(const Program& program, Counters counters, std::uint64_t steps,
                               Fault fault)
    : program_(program), counters_(std::move(counters)), fault_(fault), solver_(steps) {
  microbatches_ = solver_.integer("microbatches");
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    done_.push_back(solver_.integer("done " + program.lane_name(lane)));
  }
  const int least = fault == Fault::range_from_one ? 1 : program.microbatches.min;
  solver_.require(solver_.number(least) <= microbatches_);
  if (program.microbatches.max) {
    solver_.require(microbatches_ <= solver_.number(*program.microbatches.max));
  }
  for (const Linear& fact : counters_.invariant) {
    solver_.require(solver_.number(0) <= term(fact));
  }
}

Term CounterQueries::term(const Linear& linear) {
  std::vector<Term> parts;
  for (const auto& [lane, factor] : linear.lanes) {
    if (factor == 0) continue;
    parts.push_back(factor == 1 ? at(done_, lane) : factor * at(done_, lane));
  }
  if (linear.microbatches != 0) parts.push_back(linear.microbatches * microbatches_);
  if (linear.constant != 0) parts.push_back(solver_.number(linear.constant));
  return solver_.sum(parts);
}

Term CounterQueries::may_start(int lane) {
  std::vector<Term> guards;
  for (const Linear& g : at(counters_.may, lane)) guards.push_back(solver_.number(0) <= term(g));
  return solver_.all_of(guards);
}

bool CounterQueries::invariant_is_inductive() {
  for (const Linear& fact : counters_.invariant) {
    // Before the first task all counts are 0, and the microbatches are at least 1.
    if (fact.microbatches < 0 || fact.constant + fact.microbatches < 0) return false;
  }
  // Only facts that a start can break are asked about. Each lane is a query of its own: together
  // they are slower.
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    std::vector<Term> broken;
    for (const Linear& fact : counters_.invariant) {
      const std::int64_t factor = fact.factor_of(lane);
      if (factor >= 0) continue;
      Linear after = fact;
      after.constant += factor;
      const bool is_guard = std::any_of(
          at(counters_.may, lane).begin(), at(counters_.may, lane).end(), [&](const Linear& g) {
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

Term CounterQueries::stuck() {
  std::vector<Term> parts;
  std::vector<Term> unfinished;
  const int lanes = size_of(program_.lanes) - (fault_ == Fault::one_lane_forgotten ? 1 : 0);
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    unfinished.push_back(at(done_, lane) < microbatches_);
    if (lane >= lanes) continue;
    std::vector<Term> blocked;
    for (const Linear& g : at(counters_.must, lane)) {
      blocked.push_back(term(g) < solver_.number(0));
    }
    parts.push_back(solver_.any_of(blocked));
  }
  parts.push_back(solver_.any_of(unfinished));
  return solver_.all_of(parts);
}

Term CounterQueries::start_above(int pool, Term bound) {
  std::vector<Term> starts;
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    for (const auto& a : at(program_.lanes, lane).acquires) {
      if (a.pool != pool) continue;
      const Term after = term(at(counters_.held, pool)) + solver_.number(a.amount);
      starts.push_back(solver_.all_of({may_start(lane), bound < after}));
    }
  }
  return solver_.any_of(starts);
}

Term CounterQueries::holds_above(int pool, Term bound) {
  std::vector<Term> ways = {bound < term(at(counters_.held, pool))};
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    const spec::Lane& l = at(program_.lanes, lane);
    // What a task acquires and releases itself is held only while it runs.
    const bool returns = std::any_of(l.releases.begin(), l.releases.end(),
                                     [pool](const auto& r) { return r.pool == pool; });
    for (const auto& a : l.acquires) {
      if (a.pool != pool || !returns) continue;
      const Term after = term(at(counters_.held, pool)) + solver_.number(a.amount);
      ways.push_back(solver_.all_of({may_start(lane), bound < after}));
    }
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
