#include "verify/ready/link_facts.h"

#include <algorithm>
#include <map>

namespace ripeline::verify {

using spec::Program;

LinkFacts::LinkFacts(const Program& program, const Prefixes& prefixes, const NeedFacts& needs)
    : program_(program),
      prefixes_(prefixes),
      needs_(needs),
      inbox_edges_(program.inboxes.size()),
      arrived_(program.edges.size(), -1),
      variables_(size_of(program.lanes)) {
  for (int e = 0; e < size_of(program_.edges); ++e) {
    if (edge(e).inbox >= 0) at(inbox_edges_, edge(e).inbox).push_back(e);
  }
  for (int inbox = 0; inbox < size_of(program_.inboxes); ++inbox) {
    const std::vector<int>& edges = at(inbox_edges_, inbox);
    const bool counted = std::all_of(edges.begin(), edges.end(),
                                     [&](int e) { return edge(e).of == spec::Of::same; });
    if (edges.size() < 2 || !counted) continue;
    SharedSlots slots{slots_of(inbox), {}, {}};
    for (const int e : edges) {
      at(arrived_, e) = variables_;
      slots.arrived.push_back(variables_++);
      slots.pending.push_back(pending(e));
    }
    shared_.push_back(std::move(slots));
  }
}

// The greatest possible number of messages of the edge that are sent and not taken.
Linear LinkFacts::pending(int e) const {
  Linear waiting;
  waiting.add(edge(e).producer, 1);
  if (edge(e).of != spec::Of::all) waiting.add(edge(e).consumer, -1);
  if (edge(e).of == spec::Of::before) waiting.constant = 1;
  return waiting;
}

bool LinkFacts::add(int lane, const std::vector<int>& edges, const std::vector<Offer>& offers,
                    StartFacts& facts) const {
  bool exact = add_slots_at_once(edges, facts);
  std::vector<int> bounded;
  for (const int e : edges) {
    if (edge(e).inbox >= 0) bounded.push_back(e);
  }
  const auto require = [&](int e, std::vector<Facts> ways) {
    require_arrival(e, std::move(ways), facts);
    exact = false;
  };
  for (const int e : bounded) {
    const bool shares = at(inbox_edges_, edge(e).inbox).size() > 1;
    if (edge(e).of == spec::Of::all) {
      // Own slots need no fact: if they cannot hold all the edge's messages, no start is possible.
      if (shares) require(e, {});
    } else if (arrives_in_order(e) &&
               (prefixes_.is_prefix(lane) || all_in_order(offers, bounded))) {
      continue;  // the next message is among those that have arrived
    } else if (bounded.size() != 1 || !any_will_do(lane, e, offers)) {
      require(e, {});
    } else if (offers.size() > 1 || edge(e).of == spec::Of::before ||
               (shares && at(arrived_, e) < 0)) {
      std::vector<Facts> ways;
      if (!shares || at(arrived_, e) >= 0) ways.push_back(others_whole(e, offers));
      require(e, std::move(ways));
    } else if (shares) {
      facts.suffices({{some_arrived(e)}});
    }
  }
  return exact;
}

// A task takes its messages together, so its inboxes must have slots for all of them. The first
// microbatch has no message of a previous one; a producer sends none for microbatches it lacks.
bool LinkFacts::add_slots_at_once(const std::vector<int>& edges, StartFacts& facts) const {
  struct Free {
    Linear always, sometimes;
  };
  std::map<int, Free> free;  // per inbox
  for (const int e : edges) {
    if (edge(e).inbox < 0) continue;
    const auto [it, fresh] = free.try_emplace(edge(e).inbox);
    auto& [always, sometimes] = it->second;
    if (fresh) always.constant = sometimes.constant = slots_of(edge(e).inbox);
    Linear taken;
    if (edge(e).of == spec::Of::all) {
      taken = tasks_of(program_, edge(e).producer);
    } else {
      taken.constant = 1;
    }
    sometimes.add(taken, -1);
    const bool at_times = edge(e).of == spec::Of::before || program_.crosses_shares(edge(e));
    if (!at_times) always.add(taken, -1);
  }
  bool exact = true;
  for (const auto& [inbox, left] : free) {
    facts.may.push_back(left.always);
    facts.suffices({{left.sometimes}});
    if (left.sometimes.constant < 0 && left.always.constant != left.sometimes.constant) {
      exact = false;
    }
  }
  return exact;
}

Linear LinkFacts::some_arrived(int e) const {
  Linear here;
  here.add(at(arrived_, e), 1).constant = -1;
  return here;
}

// Facts by which all other offers are complete, so that any message of this edge starts a task.
Facts LinkFacts::others_whole(int e, const std::vector<Offer>& offers) const {
  Facts facts;
  if (at(arrived_, e) >= 0) {
    facts.push_back(some_arrived(e));
  } else {
    // For a need of the microbatch before, the first task, which takes no message, has started.
    facts.push_back(is_ahead(edge(e).producer, edge(e).consumer));
  }
  const auto mine = offer_over(e, offers);
  for (const Offer& other : offers) {
    if (other.edge == mine->edge) continue;
    const Linear all = tasks_of(program_, edge(e).consumer);
    Linear whole = other.size;
    whole.add(edge(e).of == spec::Of::same ? needs_.holding({*mine, other}).back() : all, -1);
    facts.push_back(whole);
  }
  return facts;
}

std::vector<Offer>::const_iterator LinkFacts::offer_over(int e,
                                                         const std::vector<Offer>& offers) const {
  return std::find_if(offers.begin(), offers.end(), [e, this](const Offer& offer) {
    return edge(offer.edge).producer == edge(e).producer && edge(offer.edge).of == edge(e).of;
  });
}

bool LinkFacts::arrives_in_order(int e) const {
  return edge(e).fifo && prefixes_.is_prefix(edge(e).producer);
}

bool LinkFacts::all_in_order(const std::vector<Offer>& offers,
                             const std::vector<int>& bounded) const {
  return std::all_of(offers.begin(), offers.end(), [](const Offer& o) { return o.prefix; }) &&
         std::all_of(bounded.begin(), bounded.end(), [&](int e) { return arrives_in_order(e); });
}

// True if any microbatch that arrives over this edge can start once its other needs are met.
bool LinkFacts::any_will_do(int lane, int e, const std::vector<Offer>& offers) const {
  return !prefixes_.is_prefix(lane) && offer_over(e, offers) != offers.end();
}

// Either all waiting messages have arrived, since the slots suffice, or one of `ways` holds.
void LinkFacts::require_arrival(int e, std::vector<Facts> ways, StartFacts& facts) const {
  Linear left;
  left.constant = slots_of(edge(e).inbox);
  for (const int other : at(inbox_edges_, edge(e).inbox)) left.add(pending(other), -1);
  ways.push_back({left});
  facts.suffices(ways);
}

}  // namespace ripeline::verify
