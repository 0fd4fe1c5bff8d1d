// What counts say of a program; counters.h says why.
#include "verify/ready/counters.h"

#include <map>
#include <numeric>

#include <fmt/format.h>

#include "verify/solver/share_terms.h"

namespace ripeline::verify {

using spec::Program;

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
    find_prefixes();
    count_held();
    share_slots();
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      Guards guards{{ended_at_most(lane)}, {{ended_at_most(lane)}}};
      add_needs(lane, guards);
      add_room(lane, guards);
      counters_.may.push_back(std::move(guards.may));
      counters_.must.push_back(std::move(guards.must));
    }
    add_invariant();
    return std::move(counters_);
  }

 private:
  using Facts = std::vector<Linear>;  // all >= 0

  // Of one lane: see Counters.
  struct Guards {
    Facts may;
    std::vector<Facts> must;

    void require(const Linear& fact) {
      may.push_back(fact);
      suffices({{fact}});
    }
    // One of these as well.
    void suffices(const std::vector<Facts>& ways) {
      std::vector<Facts> all;
      for (const Facts& known : must) {
        for (const Facts& way : ways) {
          all.push_back(known);
          all.back().insert(all.back().end(), way.begin(), way.end());
        }
      }
      must = std::move(all);
    }
  };

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

  Linear tasks_of(int lane) const { return verify::tasks_of(program_, lane); }

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
  bool is_or_precedes(int lane, int of) { return lane == of || is_ancestor(lane, of); }

  // Lanes whose microbatches start in order: sequential ones, those that need what needs their own
  // microbatch before, and those between what lets one microbatch in at a time and what lets it
  // out.
  void find_prefixes() {
    for (const spec::Lane& lane : program_.lanes) prefixes_.push_back(lane.sequential || lane.once);
    for (const spec::Edge& e : program_.edges) {
      if (e.of == spec::Of::before) add_prefixes(e.consumer, e.producer);
    }
    for (std::size_t before = 0; before != prefixes_found();) {
      before = prefixes_found();
      for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
        if (is_prefix(lane)) add_prefixes_behind(lane);
      }
    }
  }
  std::size_t prefixes_found() const {
    return static_cast<std::size_t>(std::count(prefixes_.begin(), prefixes_.end(), true));
  }
  // Lanes on a way from `first` to `last`, and both.
  void add_prefixes(int first, int last) {
    for (int lane = 0; lane < size_of(program_.lanes); ++lane) {
      if (is_or_precedes(first, lane) && is_or_precedes(lane, last)) {
        prefixes_[static_cast<std::size_t>(lane)] = true;
      }
    }
  }
  // The lane starts only when every microbatch that it has begun has given back what one holds.
  void add_prefixes_behind(int lane) {
    const spec::Lane& l = at(program_.lanes, lane);
    if (l.once) return;
    for (const Room& room : rooms_of(program_, lane, fault_)) {
      if (!is_only_acquirer(lane, room.pool)) continue;
      for (int other = program_.first_lane(l.rank); other < program_.first_lane(l.rank + 1);
           ++other) {
        const spec::Lane& o = at(program_.lanes, other);
        if (o.stage != l.stage) continue;
        for (const auto& r : o.releases) {
          if (r.pool == room.pool && amount(r.amount) > room.most_held) add_prefixes(lane, other);
        }
      }
    }
  }
  bool is_only_acquirer(int lane, int pool) const {
    const spec::Lane& l = at(program_.lanes, lane);
    for (int other = program_.first_lane(l.rank); other < program_.first_lane(l.rank + 1);
         ++other) {
      const spec::Lane& o = at(program_.lanes, other);
      if (other == lane || o.stage != l.stage) continue;
      for (const auto& a : o.acquires) {
        if (a.pool == pool) return false;
      }
    }
    return true;
  }
  bool is_prefix(int lane) const { return prefixes_[static_cast<std::size_t>(lane)]; }

  bool in_sequence(int lane) const {
    return is_prefix(lane) && fault_ != Fault::sequence_as_chains;
  }

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
    if (is_partial(e)) {
      offer.prefix = false;
      add_unneeded(offer.size, e);
      const spec::Share useless = without(share_of(edge(e).producer), share_of(edge(e).consumer));
      if (useless.remainders != 0) offer.size.add(useless, -1);
    }
    if (edge(e).of == spec::Of::before && offer.prefix) offer.size.constant = 1;
    return offer;
  }

  // Offers that hold no other one: what a lane's descendant has ended, it has ended too.
  std::vector<Offer> innermost(const std::vector<Offer>& offers) {
    std::vector<Offer> kept;
    for (std::size_t i = 0; i < offers.size(); ++i) {
      const spec::Edge& mine = edge(offers[i].edge);
      const auto holds_mine = [&](const Offer& other) {
        const spec::Edge& theirs = edge(other.edge);
        if (theirs.of != spec::Of::same) return false;
        if (mine.of == spec::Of::same) return is_ancestor(mine.producer, theirs.producer);
        // A prefix, and one more.
        return is_prefix(mine.producer) && is_or_precedes(mine.producer, theirs.producer);
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

  void add_needs(int lane, Guards& guards) {
    std::vector<Offer> offers;
    Facts whole;  // of all
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
      if (is_partial(e)) add_unneeded(ahead, e);
      guards.may.push_back(ahead);
    }
    if (fault_ == Fault::reversed_need && !offers.empty()) {
      guards.may.back() = behind(edge(offers.back().edge).producer, lane);
    }
    const std::vector<Offer> kept = innermost(offers);
    add_offers(lane, kept, guards);
    for (const Linear& ended : whole) guards.require(ended);
    add_links(lane, kept, guards);
  }

  // --- needs between lanes that have different microbatches ---

  bool is_partial(int e) const { return program_.crosses_shares(edge(e)); }
  const spec::Share& share_of(int lane) const { return at(program_.lanes, lane).share; }

  // The consumer's tasks that need nothing of the producer.
  void add_unneeded(Linear& sum, int e) const {
    const spec::Share free = without(share_of(edge(e).consumer), share_of(edge(e).producer));
    if (free.remainders != 0) sum.add(free, 1);
  }

  // Each offer has its size at least, and one of the microbatch before as many as its producer has
  // ended.
  void add_partial_offers(int lane, const std::vector<Offer>& kept, Guards& guards) {
    add_once(counters_.inexact, lane);
    const bool prefixes = std::all_of(kept.begin(), kept.end(), [&](const Offer& offer) {
      return is_prefix(edge(offer.edge).producer) && edge(offer.edge).of == spec::Of::same;
    });
    if (!in_sequence(lane) && !prefixes) {
      Linear common;
      for (const Offer& offer : kept) {
        if (is_partial(offer.edge)) {
          common.add(offer.size, 1);
        } else {
          common.add(edge(offer.edge).producer, 1);
        }
      }
      common.add(tasks_of(lane), 1 - static_cast<std::int64_t>(kept.size()));
      common.add(lane, -1).constant -= 1;
      return guards.suffices({{common}});
    }
    for (const Offer& offer : kept) {
      if (!is_partial(offer.edge)) {
        add_next(lane, offer, guards);
        continue;
      }
      const int producer = edge(offer.edge).producer;
      Linear whole;
      whole.add(producer, 1).add(tasks_of(producer), -1);
      std::vector<Facts> ways{{whole}};
      if (is_prefix(producer)) ways.push_back({next_has_ended(lane, producer)});
      guards.suffices(ways);
    }
  }

  // All that a prefix needs to go on to the lane's next microbatch. How many that are repeats with
  // the shares; between, the most that it is above a line counts.
  Linear next_has_ended(int lane, int producer) const {
    const spec::Share& from = share_of(producer);
    const spec::Share& to = share_of(lane);
    const std::int64_t period = std::lcm(from.period, to.period);
    const std::int64_t tasks = period / to.period * to.size();
    const std::int64_t needed = period / from.period * from.size();
    std::int64_t most = 0;
    for (int k = 0; k < tasks; ++k) {
      most = std::max(most, tasks * from.below(to.microbatch(k) + 1) - needed * k);
    }
    Linear ahead;
    ahead.add(producer, tasks).add(lane, -needed).constant = -most;
    return ahead;
  }

  void add_offers(int lane, const std::vector<Offer>& kept, Guards& guards) {
    if (std::any_of(kept.begin(), kept.end(),
                    [this](const Offer& offer) { return is_partial(offer.edge); })) {
      return add_partial_offers(lane, kept, guards);
    }
    const bool overtaking =
        std::any_of(kept.begin(), kept.end(), [](const Offer& offer) { return !offer.prefix; });
    // What overtakes may lack the last microbatch of its producer, which nobody needs.
    const bool shifted = std::any_of(kept.begin(), kept.end(), [&](const Offer& offer) {
      return !offer.prefix && edge(offer.edge).of == spec::Of::before;
    });
    const bool nested = kept.size() < 2 || !overtaking || fault_ == Fault::joins_as_chains;
    if (nested && !shifted && (!in_sequence(lane) || !overtaking)) {
      guards.suffices({Facts(guards.may.begin() + 1, guards.may.end())});
      return;
    }
    counters_.inexact.push_back(lane);
    if (in_sequence(lane)) {
      for (const Offer& offer : kept) add_next(lane, offer, guards);
      return;
    }
    // k sets have at least (the sum of their sizes) - (k - 1) * (that of a set that holds them all)
    // in common. A set that is shifted, with the first for nothing, has no fewer of it than before.
    std::vector<Facts> ways;
    for (const Linear& whole : holding(kept)) {
      Linear common;
      for (const Offer& offer : kept) common.add(edge(offer.edge).producer, 1);
      common.add(whole, 1 - static_cast<std::int64_t>(kept.size()));
      common.add(lane, -1).constant -= 1;
      ways.push_back({common});
    }
    guards.suffices(ways);
  }

  // The lane's next microbatch has ended at a producer that overtakes, surely, only once all have
  // that could have.
  void add_next(int lane, const Offer& offer, Guards& guards) {
    Linear ahead = offer.size;
    ahead.add(lane, -1).constant -= 1;
    if (offer.prefix) return guards.suffices({{ahead}});
    std::vector<Facts> ways;
    for (const Linear& whole : holding({offer}, true)) {
      Linear all;
      all.add(edge(offer.edge).producer, 1).add(whole, -1);
      ways.push_back({all});
    }
    // They are a prefix then, and it has the first for nothing.
    if (edge(offer.edge).of == spec::Of::before) ++ahead.constant;
    guards.suffices({{ahead}});
    guards.suffices(ways);
  }

  // Sizes of sets that hold what all these offers' producers have ended: what a lane that they need
  // has ended, or every microbatch. `prefixes`: only of sets 0, 1, 2, …, which also hold what is
  // shifted, but for one more.
  std::vector<Linear> holding(const std::vector<Offer>& offers, bool prefixes = false) {
    const auto is_shifted = [&](const Offer& o) { return edge(o.edge).of == spec::Of::before; };
    const bool mixed = std::any_of(offers.begin(), offers.end(), is_shifted) &&
                       !std::all_of(offers.begin(), offers.end(), is_shifted);
    std::vector<int> holders;
    const bool partial = std::any_of(offers.begin(), offers.end(),
                                     [this](const Offer& o) { return is_partial(o.edge); });
    if (partial) return {tasks_of(edge(offers.front().edge).consumer)};
    for (const int lane : ancestors_of(edge(offers.front().edge).producer)) {
      if (at(program_.lanes, lane).once) continue;  // its one task is no set of microbatches
      const bool holds = std::all_of(offers.begin(), offers.end(), [&](const Offer& offer) {
        return is_or_precedes(lane, edge(offer.edge).producer);
      });
      if (holds && (is_prefix(lane) || (!mixed && !prefixes))) holders.push_back(lane);
    }
    std::vector<Linear> sizes;
    for (const int lane : holders) {  // the last ones are the smallest
      if (std::none_of(holders.begin(), holders.end(),
                       [&](int later) { return is_ancestor(lane, later); })) {
        sizes.emplace_back().add(lane, 1);
      }
    }
    if (sizes.empty()) sizes.push_back(tasks_of(edge(offers.front().edge).consumer));
    return sizes;
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
  void add_slots_at_once(int lane, Guards& guards) {
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
      guards.may.push_back(left.always);
      guards.suffices({{left.sometimes}});
      if (left.sometimes.constant < 0 && left.always.constant != left.sometimes.constant) {
        inexact_by_slots(lane);
      }
    }
  }

  void add_links(int lane, const std::vector<Offer>& kept, Guards& guards) {
    if (fault_ == Fault::slots_forgotten) return;
    add_slots_at_once(lane, guards);
    std::vector<int> bounded;
    for (const int e : edges_of(lane)) {
      if (edge(e).inbox >= 0) bounded.push_back(e);
    }
    for (const int e : bounded) {
      const bool shares = at(inbox_edges_, edge(e).inbox).size() > 1;
      if (edge(e).of == spec::Of::all) {
        // Its own slots hold all its messages, or no start is possible.
        if (shares) require_arrival(lane, e, {}, guards);
      } else if (arrives_in_order(e) && (in_sequence(lane) || all_in_order(kept, bounded))) {
        continue;  // the next one is among those that have arrived
      } else if (bounded.size() != 1 || !any_will_do(lane, e, kept)) {
        require_arrival(lane, e, {}, guards);
      } else if (kept.size() > 1 || edge(e).of == spec::Of::before ||
                 (shares && at(arrived_, e) < 0)) {
        std::vector<Facts> ways;
        if (!shares || at(arrived_, e) >= 0) ways.push_back(others_whole(e, kept));
        require_arrival(lane, e, std::move(ways), guards);
      } else if (shares) {
        guards.suffices({{some_arrived(e)}});
      }
    }
  }

  Linear some_arrived(int e) const {
    Linear here;
    here.add(at(arrived_, e), 1).constant = -1;
    return here;
  }

  // Whatever arrives over this edge is at hand otherwise, since all is.
  Facts others_whole(int e, const std::vector<Offer>& kept) {
    Facts facts;
    if (at(arrived_, e) >= 0) {
      facts.push_back(some_arrived(e));
    } else {
      // Of the microbatch before: the first, which takes none, has started, since it could.
      facts.push_back(behind(edge(e).consumer, edge(e).producer));
    }
    const auto mine = offer_over(e, kept);
    for (const Offer& other : kept) {
      if (other.edge == mine->edge) continue;
      const Linear all = tasks_of(edge(e).consumer);
      Linear whole = other.size;
      whole.add(edge(e).of == spec::Of::same ? holding({*mine, other}).back() : all, -1);
      facts.push_back(whole);
    }
    return facts;
  }
  std::vector<Offer>::const_iterator offer_over(int e, const std::vector<Offer>& kept) const {
    return std::find_if(kept.begin(), kept.end(), [e, this](const Offer& offer) {
      return edge(offer.edge).producer == edge(e).producer && edge(offer.edge).of == edge(e).of;
    });
  }

  bool arrives_in_order(int e) const {
    return (edge(e).fifo || fault_ == Fault::overtaking_forgotten) && is_prefix(edge(e).producer);
  }
  bool all_in_order(const std::vector<Offer>& kept, const std::vector<int>& bounded) const {
    return std::all_of(kept.begin(), kept.end(), [](const Offer& o) { return o.prefix; }) &&
           std::all_of(bounded.begin(), bounded.end(), [&](int e) { return arrives_in_order(e); });
  }
  // A microbatch that arrives over this edge can start, if it is at hand otherwise.
  bool any_will_do(int lane, int e, const std::vector<Offer>& kept) const {
    return !in_sequence(lane) && offer_over(e, kept) != kept.end();
  }

  // All that waits has arrived, since the slots suffice; or else one of `ways`.
  void require_arrival(int lane, int e, std::vector<Facts> ways, Guards& guards) {
    Linear left;
    left.constant = slots_of(edge(e).inbox);
    for (const int other : at(inbox_edges_, edge(e).inbox)) left.add(pending(other), -1);
    ways.push_back({left});
    guards.suffices(ways);
    inexact_by_slots(lane);
  }
  void inexact_by_slots(int lane) {
    add_once(counters_.inexact, lane);
    add_once(counters_.by_slots, lane);
  }
  static void add_once(std::vector<int>& lanes, int lane) {
    if (lanes.empty() || lanes.back() != lane) lanes.push_back(lane);
  }

  std::int64_t capacity_of(const spec::Pool& pool) const {
    return verify::capacity_of(pool, fault_);
  }

  void add_room(int lane, Guards& guards) const {
    for (const Room& r : rooms_of(program_, lane, fault_)) {
      Linear room;
      room.add(at(counters_.held, r.pool), -1);
      room.constant = r.most_held;
      guards.require(room);
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
        if (is_partial(e)) add_unneeded(ordered, e);
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
  std::vector<bool> prefixes_;  // per lane
  std::vector<std::vector<int>> inbox_edges_;
  std::vector<int> arrived_;  // per edge: its variable among those of shared slots, or -1
};

}  // namespace

std::vector<Room> rooms_of(const Program& program, int lane, Fault fault) {
  std::vector<Room> rooms;
  if (fault == Fault::dropped_room) return rooms;
  for (const auto& a : at(program.lanes, lane).acquires) {
    std::optional<core::Room> room = room_of(program, a);
    if (!room) continue;
    room->capacity = capacity_of(at(program.pools, a.pool), fault);
    room->amount = amount_of(a.amount, fault);
    if (fault == Fault::ignored_leaving) room->leaving = 0;
    rooms.push_back({a.pool, room->most_held()});
  }
  return rooms;
}

Counters count(const Program& program, Fault fault) { return Counting(program, fault).run(); }

std::string beyond_counters(const Program& program) {
  for (const spec::Edge& e : program.edges) {
    if (!program.crosses_shares(e) || (e.of == spec::Of::same && e.inbox < 0)) continue;
    return fmt::format("{} needs {}, which has other microbatches, {}",
                       program.lane_name(e.consumer), program.lane_name(e.producer),
                       e.inbox < 0 ? "of the one before" : "over a bounded link");
  }
  return {};
}

}  // namespace ripeline::verify
