#include "validate/step_check.h"

#include <algorithm>
#include <tuple>

namespace ripeline::validate {

using core::Time;
using spec::Block;
using spec::Delay;
using spec::Event;
using spec::Machine;
using Do = spec::Event::Do;

std::map<std::int64_t, StepEvents> steps_of(const spec::Program& program,
                                            const trace::Record& record) {
  struct Entry {
    RankEvent event;
    Time then;  // the time of the start; it orders tasks chosen at the same time
  };
  std::map<std::int64_t, std::vector<std::vector<Entry>>> entries;
  const auto add = [&](std::int64_t step, int rank, const Event& event, Time at, Time then) {
    auto& of_step = entries[step];
    of_step.resize(static_cast<std::size_t>(program.ranks));
    of_step[static_cast<std::size_t>(rank)].push_back({{at, event}, then});
  };
  for (const trace::TaskEvent& e : record.tasks) {
    const auto [lane, microbatch] = e.task;
    const int rank = at(program.lanes, lane).rank;
    add(e.step, rank, {.what = Do::start, .lane = lane, .microbatch = microbatch}, e.chosen(),
        e.start);
    add(e.step, rank, {.what = Do::end, .lane = lane, .microbatch = microbatch}, e.end, e.end);
  }
  for (const trace::MessageEvent& e : record.messages) {
    const auto [edge, microbatch] = e.message;
    const Event arrival = arrival_of(program, edge, microbatch);
    add(e.step, at(program.lanes, arrival.lane).rank, arrival, e.arrived, e.arrived);
  }
  // At equal times, ends and arrivals precede starts, since starts need what they provide.
  const auto place = [](const Entry& entry) {
    const Do what = entry.event.event.what;
    return std::tuple(entry.event.at, what == Do::end ? 0 : what == Do::arrive ? 1 : 2, entry.then);
  };
  std::map<std::int64_t, StepEvents> steps;
  for (auto& [step, ranks] : entries) {
    for (std::vector<Entry>& rank : ranks) {
      std::stable_sort(rank.begin(), rank.end(),
                       [&](const Entry& a, const Entry& b) { return place(a) < place(b); });
      std::vector<RankEvent>& events = steps[step].ranks.emplace_back();
      for (const Entry& entry : rank) events.push_back(entry.event);
    }
  }
  return steps;
}

StepCheck::StepCheck(const Machine& machine, const StepEvents& events,
                     const std::vector<bool>& cut_off)
    : machine_(machine),
      program_(machine.program()),
      state_(machine.initial()),
      has_rendezvous_(std::any_of(program_.edges.begin(), program_.edges.end(),
                                  [](const spec::Edge& e) { return e.rendezvous; })),
      peaks_(program_.pools.size(), 0) {
  for (std::size_t r = 0; r < events.ranks.size(); ++r) {
    ranks_.push_back({.events = &events.ranks[r],
                      .past = std::vector<bool>(events.ranks[r].size(), false),
                      .kept = {},
                      .cut_off = cut_off[r]});
  }
}

int StepCheck::rank_of(int lane) const { return at(program_.lanes, lane).rank; }

void StepCheck::lead() {
  for (bool more = true; more;) {
    more = false;
    for (Rank& rank : ranks_) {
      while (advance(rank)) more = true;
    }
    more = more || grant_early() || assume_sent() || ignore();
  }
}

void StepCheck::happen(const Event& event) {
  machine_.step(state_, event);
  led_.push_back(event);
  if (event.what != Do::start) return;
  for (const spec::Acquire& a : at(program_.lanes, event.lane).acquires) {
    at(peaks_, a.pool) = std::max(at(peaks_, a.pool), at(state_.held, a.pool));
  }
}

bool StepCheck::may_happen(const Event& event) const {
  if (event.what == Do::start) {
    for (const auto& [edge, microbatch] : early_) {
      const spec::Edge& e = at(program_.edges, edge);
      const int taker = program_.needed_by(e, microbatch, machine_.microbatches());
      if (e.consumer == event.lane && taker == event.microbatch) return false;
    }
  }
  return machine_.is_enabled(state_, event, Machine::Chooser::any);
}

bool StepCheck::advance(Rank& rank) {
  if (advance_kept(rank)) return true;
  while (rank.first < rank.past.size() && rank.past[rank.first]) ++rank.first;
  if (rank.is_over()) return false;
  const std::vector<std::size_t> next = next_of(rank);
  return std::any_of(next.begin(), next.end(), [&](std::size_t i) { return take(rank, i); });
}

// Events that may be next: of the earliest ones, all ends, the first arrival and the first start.
std::vector<std::size_t> StepCheck::next_of(const Rank& rank) const {
  const std::vector<RankEvent>& events = *rank.events;
  std::vector<std::size_t> next;
  bool has_arrival = false;
  for (std::size_t i = rank.first; i < events.size() && events[i].at == events[rank.first].at;
       ++i) {
    const Do what = events[i].event.what;
    if (rank.past[i] || (what == Do::arrive && has_arrival)) continue;
    next.push_back(i);
    has_arrival = has_arrival || what == Do::arrive;
    if (what == Do::start) break;  // all later ones are starts
  }
  return next;
}

bool StepCheck::advance_kept(Rank& rank) {
  for (auto kept = rank.kept.begin(); kept != rank.kept.end(); ++kept) {
    const Event& event = (*rank.events)[*kept].event;
    if (!may_happen(event)) continue;
    happen(event);
    rank.kept.erase(kept);
    return true;
  }
  return false;
}

bool StepCheck::take(Rank& rank, std::size_t i) {
  const Event& event = (*rank.events)[i].event;
  const bool arrives = event.what == Do::arrive;
  if (arrives && early_.erase({event.edge, event.microbatch}) > 0) return rank.past[i] = true;
  if (arrives) {
    const std::optional<Delay> delay = machine_.delay(state_, event.edge, event.microbatch);
    if (delay && delay->why == Delay::Why::overtaken) {
      rank.kept.push_back(i);
      return rank.past[i] = true;
    }
  }
  if (!may_happen(event)) return false;
  happen(event);
  return rank.past[i] = true;
}

bool StepCheck::grant_early() {
  if (!has_rendezvous_) return false;
  for (const Rank& rank : ranks_) {
    for (std::size_t i = rank.first; i < rank.past.size() && !rank.ignored; ++i) {
      const Event& event = (*rank.events)[i].event;
      if (rank.past[i] || event.what != Do::arrive) continue;
      if (!at(program_.edges, event.edge).rendezvous || !may_happen(event)) continue;
      happen(event);
      early_.insert({event.edge, event.microbatch});
      return true;
    }
  }
  return false;
}

// Assumes that an arriving message was sent if the record of its sender ends before the send.
bool StepCheck::assume_sent() {
  for (Rank& rank : ranks_) {
    if (rank.is_over()) continue;
    for (const std::size_t i : next_of(rank)) {
      const Event& event = (*rank.events)[i].event;
      if (event.what != Do::arrive) continue;
      const int producer = at(program_.edges, event.edge).producer;
      const Rank& sender = at(ranks_, rank_of(producer));
      if (!(sender.cut_off || sender.ignored) || !sender.is_over() ||
          machine_.message(state_, event.edge, event.microbatch) != Machine::MessageState::none) {
        continue;
      }
      happen(event);
      ++assumed_;
      return rank.past[i] = true;
    }
  }
  return false;
}

// Ignores a rank if a missing event may explain its next one: a start that freed a slot, a start
// that was earlier in the order, or the arrival of a message that occupies the rank's engine.
bool StepCheck::ignore() {
  const bool any_cut_off =
      std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.cut_off; });
  for (Rank& rank : ranks_) {
    if (!any_cut_off || rank.is_over()) continue;
    for (const std::size_t i : next_of(rank)) {
      const Event& event = (*rank.events)[i].event;
      bool is_open = false;
      if (event.what == Do::arrive) {
        is_open = rank.cut_off && machine_.delay(state_, event.edge, event.microbatch);
      } else if (event.what == Do::start) {
        for (const Block& block : machine_.blocks(state_, event.lane, event.microbatch)) {
          if (block.why == Block::Why::order && rank.cut_off) is_open = !program_.pairs.empty();
          if (block.why != Block::Why::engine) continue;
          const auto taken = handed_over(event.lane);
          is_open = taken && at(ranks_, rank_of(taken->lane)).is_over();
        }
      }
      if (!is_open) continue;
      ++assumed_;
      return rank.ignored = true;
    }
  }
  return false;
}

std::vector<Blocked> StepCheck::blocked() const {
  std::vector<Blocked> found;
  std::vector<bool> too_early;  // by the clocks, for each of `found`
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Rank& rank = ranks_[r];
    if (rank.is_over()) continue;
    std::optional<Blocked> told;
    bool is_early = false;
    for (const std::size_t i : next_of(rank)) {
      const RankEvent& event = (*rank.events)[i];
      const Lack lack = this->lack(event);
      if (lack.is_at_hand && told) continue;
      // A blocked end is reported only if nothing else is blocked: it may only lack its own start.
      const bool says_more = !told || told->event.event.what == Do::end;
      if (!says_more && (lack.later || told->is_cause)) continue;
      told = {static_cast<int>(r), event, lack.what, !lack.later};
      is_early = lack.later && *lack.later > event.at;
    }
    if (!told) continue;
    found.push_back(*std::move(told));
    too_early.push_back(is_early);
  }
  const auto is_cause = [](const Blocked& b) { return b.is_cause; };
  if (std::none_of(found.begin(), found.end(), is_cause)) {
    const bool any = std::find(too_early.begin(), too_early.end(), true) != too_early.end();
    for (std::size_t i = 0; i < found.size(); ++i) found[i].is_cause = !any || too_early[i];
  }
  std::stable_partition(found.begin(), found.end(), is_cause);
  return found;
}

// The time of the event in its rank's record; nullopt if it is missing there or was replayed.
std::optional<Time> StepCheck::ahead(const Event& event) const {
  const Rank& rank = at(ranks_, rank_of(event.lane));
  for (std::size_t i = rank.first; i < rank.past.size(); ++i) {
    if (!rank.past[i] && (*rank.events)[i].event == event) return (*rank.events)[i].at;
  }
  return std::nullopt;
}

std::optional<Event> StepCheck::handed_over(int lane) const {
  const spec::Lane& own = at(program_.lanes, lane);
  for (int edge = 0; edge < size_of(program_.edges); ++edge) {
    const spec::Edge& e = at(program_.edges, edge);
    const spec::Lane& producer = at(program_.lanes, e.producer);
    if (!e.rendezvous || producer.rank != own.rank || producer.engine != own.engine) continue;
    for (int m = 0; m < program_.tasks_of(e.producer, machine_.microbatches()); ++m) {
      if (machine_.message(state_, edge, m) == Machine::MessageState::sent)
        return arrival_of(program_, edge, m);
    }
  }
  return std::nullopt;
}

StepCheck::Lack StepCheck::lack(const RankEvent& of) const {
  const Event& event = of.event;
  switch (event.what) {
    case Do::start:
      return lack_of_start(of);
    case Do::arrive:
      return lack_of_arrival(event);
    case Do::end:
    case Do::agree:
      break;
  }
  const bool started = machine_.has_started(state_, event.lane, event.microbatch);
  return {started ? "has ended already" : "ends before it starts"};
}

StepCheck::Lack StepCheck::lack_of_start(const RankEvent& start) const {
  const Event& event = start.event;
  if (event.microbatch >= program_.tasks_of(event.lane, machine_.microbatches())) {
    return {"is no task of the step"};
  }
  const std::vector<Block> blocks = machine_.blocks(state_, event.lane, event.microbatch);
  Lack lack{.what = {}, .is_at_hand = !blocks.empty()};
  for (const Block& block : blocks) {
    if (block.why == Block::Why::started) return {"has started already"};
    lack.what += lack.what.empty() ? "waits for " : ", and for ";
    const int missing = block.why != Block::Why::need
                            ? -1
                            : machine_.first_missing(state_, block.edge, event.microbatch);
    lack.is_at_hand = lack.is_at_hand && missing >= 0 &&
                      program_.crosses_ranks(at(program_.edges, block.edge)) &&
                      ahead(arrival_of(program_, block.edge, missing)) == start.at;
    if (block.why == Block::Why::need) {
      lack.what += lack_of_need(block.edge, event.microbatch);
      continue;
    }
    lack.what += machine_.describe(state_, event.lane, event.microbatch, block);
    const auto taken = handed_over(event.lane);
    if (block.why == Block::Why::engine && blocks.size() == 1 && taken) lack.later = ahead(*taken);
  }
  for (const auto& [edge, microbatch] : early_) {
    const spec::Edge& e = at(program_.edges, edge);
    if (!blocks.empty() || e.consumer != event.lane) continue;
    lack.what =
        "waits for " + program_.task_name(e.producer, microbatch) + ", whose message arrives later";
  }
  return lack;
}

// The name of the missing task, and whether that task or its message is later in the trace.
std::string StepCheck::lack_of_need(int edge, int microbatch) const {
  const spec::Edge& e = at(program_.edges, edge);
  const int missing = machine_.first_missing(state_, edge, microbatch);
  const std::string name = program_.task_name(e.producer, missing);
  if (!program_.crosses_ranks(e)) {
    const bool later = ahead({.what = Do::end, .lane = e.producer, .microbatch = missing}) ||
                       ahead({.what = Do::start, .lane = e.producer, .microbatch = missing});
    return name + (later ? ", which ends later" : ", which does not run");
  }
  if (const auto delay = machine_.delay(state_, edge, missing)) {
    if (delay->why == Delay::Why::overtaken) {
      return name + ", whose message waits for " + machine_.describe(edge, missing, *delay);
    }
  }
  return name + (ahead(arrival_of(program_, edge, missing)) ? ", whose message arrives later"
                                                            : ", whose message does not arrive");
}

StepCheck::Lack StepCheck::lack_of_arrival(const Event& event) const {
  const spec::Edge& e = at(program_.edges, event.edge);
  if (program_.needed_by(e, event.microbatch, machine_.microbatches()) < 0) {
    return {"is a message that no task needs"};
  }
  switch (machine_.message(state_, event.edge, event.microbatch)) {
    case Machine::MessageState::arrived:
      return {"has arrived already"};
    case Machine::MessageState::sent:
      if (const auto delay = machine_.delay(state_, event.edge, event.microbatch)) {
        return {"waits for " + machine_.describe(event.edge, event.microbatch, *delay)};
      }
      break;
    case Machine::MessageState::none:
      break;
  }
  const std::string name = program_.task_name(e.producer, event.microbatch);
  const auto end = ahead({.what = Do::end, .lane = e.producer, .microbatch = event.microbatch});
  if (end) return {"waits for the end of " + name, end};
  return {"is of " + name + ", which does not run"};
}

}  // namespace ripeline::validate
