#include "tests/compare/lockstep.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace ripeline::compare {
namespace {

using oracle::Choices;
using oracle::Move;
using oracle::State;
using oracle::World;
using spec::Event;
using spec::Machine;
using spec::Program;

bool in(oracle::Bits set, std::size_t i) { return (set >> i & 1U) != 0; }

// The oracle's move as an event of Machine.
Event event_of(const Program& program, const World& world, const Move& move) {
  const auto item = static_cast<std::size_t>(move.item);
  if (move.what == Move::Do::arrive) {
    const oracle::Message& message = world.messages()[item];
    const oracle::Task& producer = world.tasks()[static_cast<std::size_t>(message.producer)];
    return {.what = Event::Do::arrive,
            .lane = at(program.edges, message.edge).consumer,
            .microbatch = producer.microbatch,
            .edge = message.edge};
  }
  const oracle::Task& task = world.tasks()[item];
  const Event::Do what = move.what == Move::Do::start ? Event::Do::start : Event::Do::end;
  return {.what = what, .lane = task.lane, .microbatch = task.microbatch};
}

std::tuple<int, int, int, int> key(const Event& e) {
  return {static_cast<int>(e.what), e.edge, e.lane, e.microbatch};
}

bool before(const Event& a, const Event& b) { return key(a) < key(b); }

class Walk {
 public:
  Walk(const Program& program, int microbatches, Choices choices)
      : program_(program),
        choices_(choices),
        world_(oracle::world_of(program, microbatches, choices)),
        machine_(program, microbatches) {}

  Lockstep go(std::size_t most_states) {
    if (!world_.fits()) return {};
    reach(State{}, machine_.initial());
    for (std::size_t i = 0; i < both_.size() && found_.disagreement.empty(); ++i) {
      if (both_.size() > most_states) return found_;
      visit(i);
    }
    found_.complete = true;
    found_.states = both_.size();
    return found_;
  }

 private:
  struct Both {
    State state;
    Machine::State machine;
  };
  using Words = std::array<oracle::Bits, 4 + State::kQueues>;

  void say(const std::string& what) {
    if (found_.disagreement.empty()) found_.disagreement = what;
  }

  // If any choice is allowed, only Machine tracks the ranks' positions in the hint's round.
  void forget(Machine::State& state) const {
    if (choices_ == Choices::any || program_.dispatch.in_order) state.rounds.clear();
  }

  void reach(const State& state, Machine::State machine) {
    Words words{state.started, state.ended, state.here, state.rounds};
    std::copy(state.left.begin(), state.left.end(), words.begin() + 4);
    const auto [it, fresh] = places_.try_emplace(words, both_.size());
    if (fresh) {
      both_.push_back({state, std::move(machine)});
      return;
    }
    Machine::State known = both_[it->second].machine;
    forget(known);
    forget(machine);
    if (!(known == machine)) say("Machine is in several states for one of the oracle");
  }

  void visit(std::size_t i) {
    const State state = both_[i].state;
    const Machine::State machine = both_[i].machine;
    compare(state, machine);
    const auto chooser =
        choices_ == Choices::any ? Machine::Chooser::any : Machine::Chooser::dispatch;
    std::vector<Event> events = machine_.enabled(machine, chooser);
    std::sort(events.begin(), events.end(), before);
    std::vector<Move> moves;
    world_.moves(state, moves);
    std::vector<std::pair<Event, Move>> named;
    for (const Move& move : moves) named.emplace_back(event_of(program_, world_, move), move);
    std::sort(named.begin(), named.end(),
              [](const auto& a, const auto& b) { return before(a.first, b.first); });
    if (!std::equal(events.begin(), events.end(), named.begin(), named.end(),
                    [](const Event& e, const auto& n) { return e == n.first; })) {
      say(difference(events, named));
      return;
    }
    for (const auto& [event, move] : named) {
      Machine::State next = machine;
      machine_.step(next, event);
      reach(world_.after(state, move), std::move(next));
    }
    if (machine_.stuck(machine) != (moves.empty() && !world_.finished(state))) {
      say("they do not agree on whether it sticks");
    }
  }

  std::string difference(const std::vector<Event>& events,
                         const std::vector<std::pair<Event, Move>>& named) const {
    std::string text = "Machine:";
    for (const Event& e : events) text += " " + machine_.describe(e) + ";";
    text += " the oracle:";
    for (const auto& n : named) text += " " + machine_.describe(n.first) + ";";
    return text;
  }

  void compare(const State& state, const Machine::State& machine) {
    const auto m = static_cast<std::size_t>(machine_.microbatches());
    for (std::size_t t = 0; t < world_.tasks().size(); ++t) {
      const oracle::Task& task = world_.tasks()[t];
      const Machine::TaskState is = machine.tasks[static_cast<std::size_t>(task.lane) * m +
                                                  static_cast<std::size_t>(task.microbatch)];
      if (in(state.started, t) != (is != Machine::TaskState::waiting) ||
          in(state.ended, t) != (is == Machine::TaskState::ended)) {
        say("a task has got further in one of them");
      }
    }
    std::size_t arrived = 0;
    for (const auto message : machine.messages) {
      arrived += message == Machine::MessageState::arrived ? 1 : 0;
    }
    for (std::size_t i = 0; i < world_.messages().size(); ++i) {
      const oracle::Message& message = world_.messages()[i];
      const auto sent = static_cast<std::size_t>(
          world_.tasks()[static_cast<std::size_t>(message.producer)].microbatch);
      const bool is = machine.messages[static_cast<std::size_t>(message.edge) * m + sent] ==
                      Machine::MessageState::arrived;
      if (is != in(state.here, i)) say("a message has arrived in one of them");
      arrived -= is ? 1 : 0;
    }
    if (arrived != 0) say("Machine has messages that the oracle has not");
    for (std::size_t p = 0; p < program_.pools.size(); ++p) {
      if (machine.held[p] != world_.held(state, static_cast<int>(p))) say("they hold other room");
    }
    if (machine_.done(machine) != world_.finished(state)) say("one of them is done");
  }

  const Program& program_;
  Choices choices_;
  World world_;
  Machine machine_;
  Lockstep found_;
  std::vector<Both> both_;
  std::map<Words, std::size_t> places_;
};

}  // namespace

Lockstep walk_in_lockstep(const Program& program, int microbatches, Choices choices,
                          std::size_t most_states) {
  return Walk(program, microbatches, choices).go(most_states);
}

Replay replay(const Program& program, int microbatches, Choices choices,
              const std::vector<Event>& events) {
  const World world = oracle::world_of(program, microbatches, choices);
  Replay said;
  said.fits = world.fits();
  if (!said.fits) return said;
  State state;
  std::vector<Move> moves;
  for (const Event& event : events) {
    world.moves(state, moves);
    const auto move = std::find_if(moves.begin(), moves.end(), [&](const Move& m) {
      return event_of(program, world, m) == event;
    });
    if (move == moves.end()) {
      said.objection = "may not: " + Machine(program, microbatches).describe(event);
      return said;
    }
    state = world.after(state, *move);
  }
  world.moves(state, moves);
  said.sticks = moves.empty() && !world.finished(state);
  for (std::size_t p = 0; p < program.pools.size(); ++p) {
    said.held.push_back(world.held(state, static_cast<int>(p)));
  }
  return said;
}

}  // namespace ripeline::compare
