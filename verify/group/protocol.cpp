#include "verify/group/protocol.h"

#include <algorithm>
#include <bit>

#include "spec/indexing.h"
#include "verify/states/explorer.h"
#include "verify/states/state_key.h"

namespace ripeline::verify {

using Do = ProtocolEvent::Do;

Protocol right_protocol(spec::Agree agree) {
  using Publishes = Protocol::Publishes;
  using Decides = Protocol::Decides;
  switch (agree) {
    case spec::Agree::intersection:
      return {"intersection", Publishes::ready, Decides::common_ready};
    case spec::Agree::vote:
      return {"vote", Publishes::choice, Decides::same_choice};
    case spec::Agree::leader:
      return {"leader", Publishes::choice, Decides::leader};
    case spec::Agree::none:
      break;
  }
  return {"none", Publishes::nothing, Decides::own_choice};
}

// --- small groups ---

namespace {

std::uint32_t bit(int task) { return 1U << static_cast<unsigned>(task); }

// Tasks 0 and 1 have the same shape, so have 2 and 3, and so on.
std::uint32_t same_shape(std::uint32_t task) {
  std::uint32_t all = 0;
  for (int t = 0; t < 32; t += 2) {
    const std::uint32_t pair = bit(t) | bit(t + 1);
    if ((task & pair) != 0) all |= pair;
  }
  return all;
}

}  // namespace

ProtocolMachine::ProtocolMachine(const Protocol& protocol, int members, int tasks)
    : protocol_(protocol), members_(members), tasks_(tasks) {}

ProtocolMachine::State ProtocolMachine::initial() const {
  State state;
  state.members.resize(static_cast<std::size_t>(members_));
  return state;
}

bool ProtocolMachine::has_rounds() const {
  return protocol_.publishes != Protocol::Publishes::nothing;
}
bool ProtocolMachine::writes(int member) const {
  return has_rounds() && (protocol_.decides != Protocol::Decides::leader || member == 0);
}

std::uint32_t ProtocolMachine::ready(const Member& member) const {
  std::uint32_t tasks = member.arrived;
  for (const int task : member.issued) tasks &= ~bit(task);
  return tasks;
}

// The hint prefers the lowest number; a stale hint prefers the highest.
std::uint32_t ProtocolMachine::preferred(std::uint32_t tasks, int member) const {
  if (tasks == 0) return 0;
  const bool stale = protocol_.stale_hint && member == members_ - 1;
  return stale ? std::bit_floor(tasks) : tasks & (~tasks + 1);
}

std::uint32_t ProtocolMachine::word(const State& state, int member) const {
  const std::uint32_t tasks = ready(at(state.members, member));
  return protocol_.publishes == Protocol::Publishes::ready ? tasks : preferred(tasks, member);
}

std::uint32_t ProtocolMachine::decided(const std::vector<std::uint32_t>& words, const State& state,
                                       int member) const {
  using Decides = Protocol::Decides;
  std::uint32_t common = ~0U;
  std::uint32_t any = 0;
  for (const std::uint32_t w : words) {
    common &= w;
    any |= w;
  }
  const std::uint32_t own = ready(at(state.members, member));
  switch (protocol_.decides) {
    case Decides::common_ready:
      if (protocol_.looks_again && common != 0) return preferred(own, member);
      return preferred(common, member);
    case Decides::any_ready:
      return preferred(any, member);
    case Decides::same_choice: {
      const std::uint32_t mine = at(words, member);
      const bool same = std::all_of(words.begin(), words.end(), [&](std::uint32_t w) {
        return protocol_.compares_shapes ? same_shape(w) == same_shape(mine) : w == mine;
      });
      return same ? mine : 0;
    }
    case Decides::most_choices:
      for (const std::uint32_t w : words) {
        if (2 * std::count(words.begin(), words.end(), w) > size_of(words)) return w;
      }
      return 0;
    case Decides::leader:
      return words.front();
    case Decides::own_choice:
      return preferred(own, member);
    case Decides::first_come:
      for (const int task : at(state.members, member).came) {
        if ((own & bit(task)) != 0) return bit(task);
      }
      return 0;
    case Decides::one_event:
      break;
  }
  return own;
}

ProtocolMachine::Decision ProtocolMachine::decision(const State& state, int member) const {
  const Member& own = at(state.members, member);
  if (own.awaits >= 0) return {};
  if (!has_rounds()) return {ready(own) != 0, decided({}, state, member)};
  if ((writes(member) && !own.published) || own.round >= size_of(state.words)) return {};
  std::vector<std::uint32_t> seen;
  for (int other = 0; other < members_; ++other) {
    if (!writes(other)) continue;
    const auto& w = at(at(state.words, own.round), other);
    if (!w) return {};
    seen.push_back(*w);
  }
  return {true, decided(seen, state, member)};
}

void ProtocolMachine::add_decisions(const State& state, int member,
                                    std::vector<ProtocolEvent>& events) const {
  const Member& own = at(state.members, member);
  if (own.awaits >= 0) {
    if ((ready(own) & bit(own.awaits)) != 0) events.push_back({Do::start, member, own.awaits});
    return;
  }
  const Decision made = decision(state, member);
  if (!made.made) return;
  if (made.tasks == 0) events.push_back({Do::pass, member, -1});
  for (int task = 0; task < tasks_; ++task) {
    if ((made.tasks & bit(task)) == 0) continue;
    const bool issued = std::find(own.issued.begin(), own.issued.end(), task) != own.issued.end();
    const bool waits = protocol_.unready == Protocol::Unready::waits && !issued;
    const bool may = (ready(own) & bit(task)) != 0;
    events.push_back({may ? Do::start : waits ? Do::await : Do::pass, member, task});
  }
}

std::vector<ProtocolEvent> ProtocolMachine::enabled(const State& state) const {
  std::vector<ProtocolEvent> events;
  for (int member = 0; member < members_; ++member) {
    const Member& own = at(state.members, member);
    const bool together = protocol_.decides == Protocol::Decides::one_event;
    const bool room =
        protocol_.shared_slots == 0 || std::popcount(ready(own)) < protocol_.shared_slots;
    for (int task = 0; task < tasks_ && room; task += together ? tasks_ : 1) {
      if ((own.arrived & bit(task)) == 0) events.push_back({Do::arrive, member, task});
    }
    // A leader publishes nothing while it has no task to start.
    const bool silent = protocol_.decides == Protocol::Decides::leader && word(state, member) == 0;
    const bool due = writes(member) && !own.published && own.awaits < 0 && !silent;
    if (due && size_of(own.issued) < tasks_) {
      events.push_back({Do::publish, member, -1});
    }
    add_decisions(state, member, events);
  }
  return events;
}

void ProtocolMachine::next_round(State& state, int member, bool retry) const {
  Member& own = at(state.members, member);
  own.published = false;
  if (!has_rounds()) return;
  if (!retry || protocol_.new_round_on_retry) ++own.round;
  // Rounds that all members have left are dropped, since round numbers have no meaning.
  int first = own.round;
  for (const Member& other : state.members) first = std::min(first, other.round);
  if (first == 0) return;
  for (Member& other : state.members) other.round -= first;
  state.words.erase(state.words.begin(),
                    state.words.begin() + std::min<std::ptrdiff_t>(first, size_of(state.words)));
}

void ProtocolMachine::step(State& state, const ProtocolEvent& event) const {
  Member& own = at(state.members, event.member);
  switch (event.what) {
    case Do::arrive:
      own.arrived |= bit(event.task);
      if (protocol_.decides == Protocol::Decides::one_event) own.arrived = bit(tasks_) - 1;
      if (protocol_.decides == Protocol::Decides::first_come) own.came.push_back(event.task);
      return;
    case Do::publish: {
      const std::uint32_t written = word(state, event.member);
      if (own.round >= size_of(state.words)) {
        state.words.resize(static_cast<std::size_t>(own.round) + 1);
      }
      auto& words = at(state.words, own.round);
      words.resize(static_cast<std::size_t>(members_));
      at(words, event.member) = written;
      own.published = true;
      return;
    }
    case Do::start:
      own.issued.push_back(event.task);
      own.awaits = -1;
      next_round(state, event.member, false);
      return;
    case Do::pass:
      next_round(state, event.member, event.task < 0);
      return;
    case Do::await:
      own.awaits = event.task;
      return;
  }
}

bool ProtocolMachine::done(const State& state) const {
  return std::all_of(state.members.begin(), state.members.end(),
                     [this](const Member& m) { return size_of(m.issued) == tasks_; });
}

bool ProtocolMachine::parted(const State& state) const {
  for (const Member& a : state.members) {
    for (const Member& b : state.members) {
      const std::size_t both = std::min(a.issued.size(), b.issued.size());
      if (!std::equal(a.issued.begin(), a.issued.begin() + static_cast<std::ptrdiff_t>(both),
                      b.issued.begin())) {
        return true;
      }
    }
  }
  return false;
}

std::string ProtocolMachine::describe(const ProtocolEvent& event) const {
  const std::string who = "member " + std::to_string(event.member);
  const std::string task = std::to_string(event.task);
  switch (event.what) {
    case Do::arrive:
      return who + ": " + task + " arrives";
    case Do::publish:
      return who + ": publish";
    case Do::start:
      return who + ": start " + task;
    case Do::pass:
      return who + (event.task < 0 ? ": retry" : ": pass over " + task);
    case Do::await:
      return who + ": wait for " + task;
  }
  return {};
}

namespace {

// The machine's states, with each state's predecessors, and the states in which all have ended.
class ProtocolStates {
 public:
  using State = ProtocolMachine::State;
  using Move = ProtocolEvent;

  explicit ProtocolStates(const ProtocolMachine& machine) : machine_(machine) {}

  [[nodiscard]] std::string key(const State& state) const {
    StateKey key;
    for (const ProtocolMachine::Member& m : state.members) {
      key.add(static_cast<int>(m.arrived)).add(m.round).add(m.published ? 1 : 0).add(m.awaits + 1);
      key.add(m.came).add(m.issued);
    }
    for (const auto& words : state.words) {
      key.add(size_of(words));
      for (const auto& w : words) key.add(w ? static_cast<int>(*w) + 1 : 0);
    }
    return key.take();
  }
  [[nodiscard]] Visit<ProtocolEvent> visit(const State& state, std::size_t number) {
    before_.resize(std::max(before_.size(), number + 1));
    if (machine_.done(state)) ends_.push_back(number);
    if (machine_.parted(state)) return {.found = true};
    return {.moves = machine_.enabled(state)};
  }
  [[nodiscard]] State after(const State& state, const ProtocolEvent& event) const {
    State after = state;
    machine_.step(after, event);
    return after;
  }
  void reached(std::size_t from, std::size_t to) {
    before_.resize(std::max(before_.size(), to + 1));
    before_[to].push_back(from);
  }

  // The first state from which no state can be reached in which all have ended.
  [[nodiscard]] std::optional<std::size_t> first_without_end() const {
    std::vector<bool> reaches(before_.size(), false);
    std::vector<std::size_t> open = ends_;
    while (!open.empty()) {
      const std::size_t number = open.back();
      open.pop_back();
      if (reaches[number]) continue;
      reaches[number] = true;
      open.insert(open.end(), before_[number].begin(), before_[number].end());
    }
    const auto first = std::find(reaches.begin(), reaches.end(), false);
    if (first == reaches.end()) return std::nullopt;
    return static_cast<std::size_t>(first - reaches.begin());
  }

 private:
  const ProtocolMachine& machine_;
  std::vector<std::vector<std::size_t>> before_;  // per state: the states that lead to it
  std::vector<std::size_t> ends_;
};

}  // namespace

Trial try_all(const Protocol& protocol, int members, int tasks, std::size_t most_states) {
  const ProtocolMachine machine(protocol, members, tasks);
  ProtocolStates states(machine);
  Budget budget = Budget::unlimited();
  const auto explored =
      breadth_first(states, {machine.initial()}, budget, {.most_states = most_states});
  const std::size_t found = explored.ways.size();
  if (explored.way) return {Trial::Result::parts, *explored.way, found};
  if (!explored.complete) return {Trial::Result::too_many, {}, found};
  if (const auto lost = states.first_without_end()) {
    return {Trial::Result::hangs, explored.ways.moves_to(*lost), found};
  }
  return {Trial::Result::sound, {}, found};
}

}  // namespace ripeline::verify
