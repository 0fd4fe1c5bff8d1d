#include "verify/ready/need_facts.h"

#include <algorithm>
#include <numeric>

#include "verify/solver/share_terms.h"

namespace ripeline::verify {

using spec::Program;

// The size is the number of ended tasks of the producer, plus 1 if microbatch 0 needs nothing. If
// the producer overtakes, one ended task may be its last, which nothing needs; so 1 is not added.
Offer NeedFacts::offer_of(int e) const {
  Offer offer{e, {}, prefixes_.is_prefix(edge(e).producer)};
  offer.size.add(edge(e).producer, 1);
  if (crosses_shares(e)) {
    offer.prefix = false;
    add_unneeded(offer.size, program_, edge(e));
    const spec::Share useless = without(share_of(edge(e).producer), share_of(edge(e).consumer));
    if (useless.remainders != 0) offer.size.add(useless, -1);
  }
  if (edge(e).of == spec::Of::before && offer.prefix) offer.size.constant = 1;
  return offer;
}

// The offers that contain no other one. A producer's offer contains those of lanes that need it.
std::vector<Offer> NeedFacts::innermost(const std::vector<Offer>& offers) const {
  std::vector<Offer> kept;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const spec::Edge& mine = edge(offers[i].edge);
    const auto holds_mine = [&](const Offer& other) {
      const spec::Edge& theirs = edge(other.edge);
      if (theirs.of != spec::Of::same) return false;
      if (mine.of == spec::Of::same) return prefixes_.is_ancestor(mine.producer, theirs.producer);
      // `mine` is for the microbatch before, so it has one more. As a prefix it contains `theirs`.
      return prefixes_.is_prefix(mine.producer) &&
             prefixes_.is_or_precedes(mine.producer, theirs.producer);
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

NeedFacts::Needs NeedFacts::add(int lane, const std::vector<int>& edges, StartFacts& facts) const {
  std::vector<Offer> offers;
  Facts whole;  // facts of needs `of all`
  for (const int e : edges) {
    if (edge(e).of == spec::Of::all) {
      Linear ended;
      ended.add(edge(e).producer, 1).add(tasks_of(program_, edge(e).producer), -1);
      whole.push_back(ended);
      continue;
    }
    offers.push_back(offer_of(e));
    Linear ahead = is_ahead(edge(e).producer, lane);
    if (edge(e).of == spec::Of::before) ++ahead.constant;
    if (crosses_shares(e)) add_unneeded(ahead, program_, edge(e));
    facts.may.push_back(ahead);
  }
  Needs needs{innermost(offers), true};
  needs.exact = add_offers(lane, needs.offers, facts);
  for (const Linear& ended : whole) facts.require(ended);
  return needs;
}

bool NeedFacts::add_offers(int lane, const std::vector<Offer>& kept, StartFacts& facts) const {
  if (std::any_of(kept.begin(), kept.end(),
                  [this](const Offer& offer) { return crosses_shares(offer.edge); })) {
    add_offers_of_shares(lane, kept, facts);
    return false;
  }
  const bool overtaking =
      std::any_of(kept.begin(), kept.end(), [](const Offer& offer) { return !offer.prefix; });
  // A producer that overtakes may end its last microbatch, which no task needs, before others.
  const bool shifted = std::any_of(kept.begin(), kept.end(), [&](const Offer& offer) {
    return !offer.prefix && edge(offer.edge).of == spec::Of::before;
  });
  const bool nested = kept.size() < 2 || !overtaking;
  const bool in_order = prefixes_.is_prefix(lane);
  if (nested && !shifted && (!in_order || !overtaking)) {
    facts.suffices({Facts(facts.may.begin() + 1, facts.may.end())});
    return true;
  }
  if (in_order) {
    for (const Offer& offer : kept) add_next(lane, offer, facts);
    return false;
  }
  // A shifted offer gains the first microbatch, which needs nothing, and loses at most the last one
  // in the set that contains all offers. So it has at least as many there as its producer ended.
  std::vector<Facts> ways;
  for (const Linear& whole : holding(kept)) {
    Linear common;
    for (const Offer& offer : kept) common.add(edge(offer.edge).producer, 1);
    common.add(whole, 1 - static_cast<std::int64_t>(kept.size()));
    common.add(lane, -1).constant -= 1;
    ways.push_back({common});
  }
  facts.suffices(ways);
  return false;
}

// Adds that the producer has ended the lane's next microbatch. If the producer overtakes, this is
// certain only once it has ended all microbatches that it could have ended.
void NeedFacts::add_next(int lane, const Offer& offer, StartFacts& facts) const {
  Linear ahead = offer.size;
  ahead.add(lane, -1).constant -= 1;
  if (offer.prefix) return facts.suffices({{ahead}});
  std::vector<Facts> ways;
  for (const Linear& whole : holding({offer}, true)) {
    Linear all;
    all.add(edge(offer.edge).producer, 1).add(whole, -1);
    ways.push_back({all});
  }
  // By `ways`, the ended microbatches are a prefix. Microbatch 0 needs nothing and adds one more.
  if (edge(offer.edge).of == spec::Of::before) ++ahead.constant;
  facts.suffices({{ahead}});
  facts.suffices(ways);
}

std::vector<Linear> NeedFacts::holding(const std::vector<Offer>& offers, bool in_order) const {
  const auto is_shifted = [&](const Offer& o) { return edge(o.edge).of == spec::Of::before; };
  const bool mixed = std::any_of(offers.begin(), offers.end(), is_shifted) &&
                     !std::all_of(offers.begin(), offers.end(), is_shifted);
  std::vector<int> holders;
  const bool of_shares = std::any_of(offers.begin(), offers.end(),
                                     [this](const Offer& o) { return crosses_shares(o.edge); });
  if (of_shares) return {tasks_of(program_, edge(offers.front().edge).consumer)};
  for (const int lane : prefixes_.ancestors_of(edge(offers.front().edge).producer)) {
    if (at(program_.lanes, lane).once) continue;  // its single task is not a set of microbatches
    const bool holds = std::all_of(offers.begin(), offers.end(), [&](const Offer& offer) {
      return prefixes_.is_or_precedes(lane, edge(offer.edge).producer);
    });
    if (holds && (prefixes_.is_prefix(lane) || (!mixed && !in_order))) holders.push_back(lane);
  }
  std::vector<Linear> sizes;
  for (const int lane : holders) {  // those without a descendant among them have the smallest sets
    if (std::none_of(holders.begin(), holders.end(),
                     [&](int later) { return prefixes_.is_ancestor(lane, later); })) {
      sizes.emplace_back().add(lane, 1);
    }
  }
  if (sizes.empty()) sizes.push_back(tasks_of(program_, edge(offers.front().edge).consumer));
  return sizes;
}

// --- between lanes that have different microbatches ---

void add_unneeded(Linear& sum, const Program& program, const spec::Edge& edge) {
  const spec::Share free =
      without(at(program.lanes, edge.consumer).share, at(program.lanes, edge.producer).share);
  if (free.remainders != 0) sum.add(free, 1);
}

// An offer that crosses shares has at least `size` microbatches. Any other offer has at least as
// many as its producer has ended, even if the need is for the microbatch before.
void NeedFacts::add_offers_of_shares(int lane, const std::vector<Offer>& kept,
                                     StartFacts& facts) const {
  const bool in_order = std::all_of(kept.begin(), kept.end(), [&](const Offer& offer) {
    return prefixes_.is_prefix(edge(offer.edge).producer) && edge(offer.edge).of == spec::Of::same;
  });
  if (!prefixes_.is_prefix(lane) && !in_order) {
    Linear common;
    for (const Offer& offer : kept) {
      if (crosses_shares(offer.edge)) {
        common.add(offer.size, 1);
      } else {
        common.add(edge(offer.edge).producer, 1);
      }
    }
    common.add(tasks_of(program_, lane), 1 - static_cast<std::int64_t>(kept.size()));
    common.add(lane, -1).constant -= 1;
    return facts.suffices({{common}});
  }
  for (const Offer& offer : kept) {
    if (!crosses_shares(offer.edge)) {
      add_next(lane, offer, facts);
      continue;
    }
    const int producer = edge(offer.edge).producer;
    Linear whole;
    whole.add(producer, 1).add(tasks_of(program_, producer), -1);
    std::vector<Facts> ways{{whole}};
    if (prefixes_.is_prefix(producer)) ways.push_back({next_has_ended(lane, producer)});
    facts.suffices(ways);
  }
}

// The fact that a producer in order has ended all that the lane's next task needs. For its task k,
// the lane needs at most (needed * k + most) / tasks tasks of the producer to have ended.
Linear NeedFacts::next_has_ended(int lane, int producer) const {
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

}  // namespace ripeline::verify
