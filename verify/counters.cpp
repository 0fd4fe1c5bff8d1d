#include "verify/counters.h"

#include <map>

#include <fmt/format.h>

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

std::int64_t amount_of(std::int64_t written, Fault fault) {
  return fault == Fault::amount_of_one ? 1 : written;
}

std::int64_t capacity_of(const spec::Pool& pool, Fault fault) {
  if (fault == Fault::capacity_too_large) return *pool.capacity + 1;
  if (fault == Fault::capacity_too_small) return *pool.capacity - 1;
  return *pool.capacity;
}

class Counting {
 public:
  Counting(const Program& program, Fault fault) : program_(program), fault_(fault) {}

  Counters run() {
    counters_.variables = size_of(program_.lanes);
    count_held();
    share_slots();
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
  std::int64_t amount(std::int64_t written) const { return amount_of(written, fault_); }

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

  // Tasks of the lane less 1 and what has ended: there is one left.
  Linear ended_at_most(int lane) const {
    Linear left = tasks_of(lane);
    left.add(lane, -1);
    left.constant -= 1;
    return left;
  }

  Linear tasks_of(int lane) const {
    Linear all;
    (at(program_.lanes, lane).once ? all.constant : all.microbatches) = 1;
    return all;
  }

  // done[producer] - done[lane] - 1.
  Linear behind(int lane, int producer) const {
    Linear difference;
    difference.add(producer, 1).add(lane, -1);
    difference.constant = -1;
    return difference;
  }

  // Edges in whose producer's same or last microbatch the lane's start lies.
  std::vector<int> edges_of(int lane) const {
    std::vector<int> found = at(program_.lanes, lane).edges;
    if (fault_ == Fault::dropped_need && !found.empty()) found.pop_back();
    return found;
  }

  const spec::Edge& edge(int e) const { return at(program_.edges, e); }

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

  // What one need offers: a set of the consumer's microbatches, as large as `size` at least.
  struct Offer {
    int edge = -1;
    Linear size;
    bool prefix = false;  // 0, 1, 2, …, and `size` of them or all
  };

  // done[p], and one more where the first microbatch needs nothing. What the last one of a producer
  // that overtakes is needed for does not exist: so many there are without the first.
  Offer offer_of(int e) const {
    Offer offer{e, {}, is_prefix(edge(e).producer)};
    offer.size.add(edge(e).producer, 1);
    if (edge(e).of == spec::Of::before && offer.prefix) offer.size.constant = 1;
    return offer;
  }

  // Offers that are in no other one: what a lane's descendant has ended, it has ended too.
  std::vector<Offer> innermost(const std::vector<Offer>& offers) {
    std::vector<Offer> kept;
    for (std::size_t i = 0; i < offers.size(); ++i) {
      const spec::Edge& mine = edge(offers[i].edge);
      const auto holds_mine = [&](const Offer& other) {
        const spec::Edge& theirs = edge(other.edge);
        return mine.of == spec::Of::same && theirs.of == spec::Of::same &&
               mine.producer != theirs.producer && is_ancestor(mine.producer, theirs.producer);
      };
      const auto is_mine = [&](const Offer& other) {
        return edge(other.edge).producer == mine.producer && edge(other.edge).of == mine.of;
      };
      if (std::none_of(offers.begin(), offers.end(), holds_mine) &&
          std::none_of(kept.begin(), kept.end(), is_mine)) {
        kept.push_back(offers[i]);
      }
    }
    return kept;
  }

  void add_needs(int lane, std::vector<Linear>& may, std::vector<Linear>& must) {
    std::vector<Offer> offers;
    std::vector<Linear> whole;  // of all
    for (const int e : edges_of(lane)) {
      if (edge(e).of == spec::Of::all) {
        Linear ended;
        ended.add(edge(e).producer, 1).add(tasks_of(edge(e).producer), -1);
        whole.push_back(ended);
        continue;
      }
      offers.push_back(offer_of(e));
      Linear ahead = behind(lane, edge(e).producer);
      if (edge(e).of == spec::Of::before) ++ahead.constant;
      may.push_back(ahead);
    }
    if (fault_ == Fault::reversed_need && !offers.empty()) {
      may.back() = behind(edge(offers.back().edge).producer, lane);
    }
    const std::vector<Offer> kept = innermost(offers);
    add_offers(lane, kept, may, must);
    may.insert(may.end(), whole.begin(), whole.end());
    must.insert(must.end(), whole.begin(), whole.end());
    add_links(lane, kept, may, must);
  }

  void add_offers(int lane, const std::vector<Offer>& kept, const std::vector<Linear>& may,
                  std::vector<Linear>& must) {
    const bool in_sequence = is_prefix(lane) && fault_ != Fault::sequence_as_chains;
    const bool overtaking =
        std::any_of(kept.begin(), kept.end(), [](const Offer& offer) { return !offer.prefix; });
    // What overtakes may lack the last microbatch of its producer, which nobody needs.
    const bool shifted = std::any_of(kept.begin(), kept.end(), [&](const Offer& offer) {
      return !offer.prefix && edge(offer.edge).of == spec::Of::before;
    });
    const bool nested = kept.size() < 2 || !overtaking || fault_ == Fault::joins_as_chains;
    if (nested && !shifted && (!in_sequence || !overtaking)) {
      must.insert(must.end(), may.begin() + 1, may.end());
      return;
    }
    counters_.inexact.push_back(lane);
    if (in_sequence) {
      // Its next microbatch has surely ended at a producer that overtakes only once all have.
      for (const Offer& offer : kept) {
        Linear ahead = offer.size;
        ahead.add(lane, -1).constant -= 1;
        must.push_back(ahead);
        if (offer.prefix) continue;
        Linear all = offer.size;
        all.microbatches -= 1;
        must.push_back(all);
      }
      return;
    }
    // k sets of M microbatches have at least (the sum of their sizes) - (k - 1) M in common.
    Linear common;
    for (const Offer& offer : kept) {
      common.add(offer.size, 1);
      // A prefix with the first microbatch for nothing is no larger than all.
      if (edge(offer.edge).of == spec::Of::before && offer.prefix) common.constant -= 1;
    }
    common.add(lane, -1);
    common.microbatches += 1 - static_cast<std::int64_t>(kept.size());
    common.constant -= 1;
    must.push_back(common);
  }

  // --- bounded links ---

  // At most so many messages of the edge are sent and not taken.
  Linear pending(int e) const {
    Linear waiting;
    waiting.add(edge(e).producer, 1);
    if (edge(e).of != spec::Of::all) waiting.add(edge(e).consumer, -1);
    if (edge(e).of == spec::Of::before) waiting.constant = 1;
    return waiting;
  }

  // A variable for each edge of a channel whose pending messages are counted exactly.
  void share_slots() {
    inbox_edges_.resize(program_.inboxes.size());
    arrived_.assign(program_.edges.size(), -1);
    for (int e = 0; e < size_of(program_.edges); ++e) {
      if (edge(e).inbox >= 0) at(inbox_edges_, edge(e).inbox).push_back(e);
    }
    for (int inbox = 0; inbox < size_of(program_.inboxes); ++inbox) {
      const std::vector<int>& edges = at(inbox_edges_, inbox);
      const bool counted = std::all_of(edges.begin(), edges.end(),
                                       [&](int e) { return edge(e).of == spec::Of::same; });
      if (edges.size() < 2 || !counted) continue;
      SharedSlots shared{slots_of(inbox), {}, {}};
      for (const int e : edges) {
        at(arrived_, e) = counters_.variables;
        shared.arrived.push_back(counters_.variables++);
        shared.pending.push_back(pending(e));
      }
      counters_.shared.push_back(std::move(shared));
    }
  }

  std::int64_t slots_of(int inbox) const {
    const std::int64_t slots = at(program_.inboxes, inbox).slots;
    if (fault_ == Fault::slots_too_many) return slots + 1;
    return slots;
  }

  // A task takes its messages together: its own slots must be enough for them. The first
  // microbatch has no message of the one before it.
  void add_slots_at_once(int lane, std::vector<Linear>& may, std::vector<Linear>& must) {
    struct Free {
      Linear always, sometimes;
    };
    std::map<int, Free> free;  // per inbox
    for (const int e : edges_of(lane)) {
      if (edge(e).inbox < 0) continue;
      const auto [it, fresh] = free.try_emplace(edge(e).inbox);
      auto& [always, sometimes] = it->second;
      if (fresh) always.constant = sometimes.constant = slots_of(edge(e).inbox);
      Linear taken;
      if (edge(e).of == spec::Of::all) {
        taken = tasks_of(edge(e).producer);
      } else {
        taken.constant = 1;
      }
      sometimes.add(taken, -1);
      if (edge(e).of != spec::Of::before) always.add(taken, -1);
    }
    for (const auto& [inbox, left] : free) {
      may.push_back(left.always);
      must.push_back(left.sometimes);
      if (left.sometimes.constant < 0 && left.always.constant != left.sometimes.constant) {
        inexact_by_slots(lane);
      }
    }
  }

  void add_links(int lane, const std::vector<Offer>& kept, std::vector<Linear>& may,
                 std::vector<Linear>& must) {
    if (fault_ == Fault::slots_forgotten) return;
    add_slots_at_once(lane, may, must);
    std::vector<int> bounded;
    for (const int e : edges_of(lane)) {
      if (edge(e).inbox >= 0) bounded.push_back(e);
    }
    for (const int e : bounded) {
      if (edge(e).of == spec::Of::all) {
        // Its own slots hold all its messages, or no start is possible.
        if (at(inbox_edges_, edge(e).inbox).size() > 1) all_arrived(lane, e, must);
      } else if (arrives_in_order(e) && all_in_order(kept, bounded)) {
        continue;  // the next one is among those that have arrived
      } else if (bounded.size() == 1 && comes_last(lane, e, kept)) {
        if (at(arrived_, e) >= 0) {
          Linear here;
          here.add(at(arrived_, e), 1).constant = -1;
          must.push_back(here);
        } else if (at(inbox_edges_, edge(e).inbox).size() > 1) {
          all_arrived(lane, e, must);
        }
      } else {
        all_arrived(lane, e, must);
      }
    }
  }

  bool arrives_in_order(int e) const {
    return (edge(e).fifo || fault_ == Fault::overtaking_forgotten) && is_prefix(edge(e).producer);
  }
  bool all_in_order(const std::vector<Offer>& kept, const std::vector<int>& bounded) const {
    return std::all_of(kept.begin(), kept.end(), [](const Offer& o) { return o.prefix; }) &&
           std::all_of(bounded.begin(), bounded.end(), [&](int e) { return arrives_in_order(e); });
  }
  // Any microbatch that arrives over this edge can start: it is at hand otherwise.
  bool comes_last(int lane, int e, const std::vector<Offer>& kept) const {
    return (!is_prefix(lane) || fault_ == Fault::sequence_as_chains) && kept.size() == 1 &&
           edge(kept.front().edge).producer == edge(e).producer &&
           edge(kept.front().edge).of == edge(e).of && edge(e).of == spec::Of::same;
  }

  // The slots suffice for whatever waits for them.
  void all_arrived(int lane, int e, std::vector<Linear>& must) {
    Linear left;
    left.constant = slots_of(edge(e).inbox);
    for (const int other : at(inbox_edges_, edge(e).inbox)) left.add(pending(other), -1);
    must.push_back(left);
    inexact_by_slots(lane);
  }
  void inexact_by_slots(int lane) {
    const auto add = [lane](std::vector<int>& lanes) {
      if (lanes.empty() || lanes.back() != lane) lanes.push_back(lane);
    };
    add(counters_.inexact);
    add(counters_.by_slots);
  }

  std::int64_t capacity_of(const spec::Pool& pool) const {
    return verify::capacity_of(pool, fault_);
  }

  void add_room(int lane, std::vector<Linear>& may, std::vector<Linear>& must) const {
    for (const Room& r : rooms_of(program_, lane, fault_)) {
      Linear room;
      room.add(at(counters_.held, r.pool), -1);
      room.constant = r.most_held;
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
      ++at_most_all.constant;
      counters_.invariant.push_back(at_most_all);
      for (const int e : edges_of(lane)) {
        if (edge(e).of == spec::Of::all) continue;  // no sum says it
        Linear ordered = behind(lane, edge(e).producer);
        ordered.constant += edge(e).of == spec::Of::before ? 2 : 1;
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
  std::vector<std::vector<int>> inbox_edges_;
  std::vector<int> arrived_;  // per edge: its variable among those of shared slots, or -1
};

}  // namespace

std::vector<Room> rooms_of(const Program& program, int lane, Fault fault) {
  std::vector<Room> rooms;
  if (fault == Fault::dropped_room) return rooms;
  for (const auto& a : at(program.lanes, lane).acquires) {
    const spec::Pool& pool = at(program.pools, a.pool);
    if (!pool.capacity) continue;
    const std::int64_t leaving = fault == Fault::ignored_leaving ? 0 : a.leaving;
    rooms.push_back({a.pool, capacity_of(pool, fault) - amount_of(a.amount, fault) - leaving});
  }
  return rooms;
}

Counters count(const Program& program, Fault fault) { return Counting(program, fault).run(); }

CounterQueries::CounterQueries(const Program& program, Counters counters, SolverUse use,
                               Fault fault)
    : program_(program), counters_(std::move(counters)), fault_(fault), solver_(use) {
  microbatches_ = solver_.integer("microbatches");
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    done_.push_back(solver_.integer("done " + program.lane_name(lane)));
  }
  for (int v = size_of(program.lanes); v < counters_.variables; ++v) {
    arrived_.push_back(solver_.integer(fmt::format("arrived {}", v - size_of(program.lanes))));
  }
  const int least = fault == Fault::range_from_one ? 1 : program.microbatches.min;
  solver_.require(solver_.number(least) <= microbatches_);
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

Term CounterQueries::stuck() {
  std::vector<Term> parts;
  std::vector<Term> unfinished;
  const int lanes = size_of(program_.lanes) - (fault_ == Fault::one_lane_forgotten ? 1 : 0);
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
    unfinished.push_back(at(done_, lane) < total_of(lane));
    if (lane >= lanes) continue;
    std::vector<Term> blocked;
    for (const Linear& g : at(counters_.must, lane)) {
      blocked.push_back(term(g) < solver_.number(0));
    }
    parts.push_back(solver_.any_of(blocked));
  }
  parts.push_back(solver_.any_of(unfinished));
  add_quiescence(parts);
  return solver_.all_of(parts);
}

Term CounterQueries::total_of(int lane) {
  return at(program_.lanes, lane).once ? solver_.number(1) : microbatches_;
}

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

// What lanes on the other engines of the rank may still hold while they run, though they count as
// ended: for each way in which others run, how much.
std::vector<Term> CounterQueries::held_elsewhere(int lane, int pool) {
  const spec::Lane& l = at(program_.lanes, lane);
  std::vector<Term> sums = {solver_.number(0)};
  for (const spec::Engine engine :
       {spec::Engine::compute, spec::Engine::copy_out, spec::Engine::copy_in}) {
    if (engine == l.engine) continue;
    std::vector<Term> with = sums;
    for (int other = program_.first_lane(l.rank); other < program_.first_lane(l.rank + 1);
         ++other) {
      const spec::Lane& o = at(program_.lanes, other);
      if (o.engine != engine) continue;
      for (const auto& r : o.releases) {
        if (r.pool != pool) continue;
        for (const Term& sum : sums) {
          with.push_back(sum + if_then_else(solver_.number(1) <= at(done_, other),
                                            solver_.number(r.amount), solver_.number(0)));
        }
      }
    }
    sums = std::move(with);
  }
  return sums;
}

std::vector<Term> CounterQueries::starts_above(int lane, int pool, Term bound) {
  std::vector<Term> ways;
  const auto& capacity = at(program_.pools, pool).capacity;
  for (const auto& a : at(program_.lanes, lane).acquires) {
    if (a.pool != pool) continue;
    const Term after = term(at(counters_.held, pool)) + solver_.number(a.amount);
    const std::vector<Term> sums = held_elsewhere(lane, pool);  // the first is nothing
    for (std::size_t i = 0; i < sums.size(); ++i) {
      std::vector<Term> facts = {may_start(lane), bound < after + sums[i]};
      // What still is held was held when the task was admitted.
      if (capacity && i > 0) facts.push_back(after + sums[i] <= solver_.number(*capacity));
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
    // What a task acquires and releases itself is held only while it runs, and what another engine
    // has not yet released only beside it.
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
