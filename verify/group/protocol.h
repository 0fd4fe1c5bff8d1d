// Protocols by which the members of a tensor-parallel group come to start tasks in one order.
//
// One level below spec/group.h: there an agreement is one event, here it is what members publish,
// when they look, how they decide and what they do when nothing comes of it. A protocol is a plain
// description, so that the one that is right and those that are almost right differ by a field.
// Tasks are numbers; each reaches each member at a time of its own and may then start there, since
// what may start only grows while nothing starts.
//
// agrees_for_every_size() asks the solver for the step of an induction over rounds: two members, of
// any number, that have issued the same tasks up to a round issue the same in it. try_all() visits
// every state of a small group and also looks whether the end stays within reach. Both are exact
// about the description; that the runtime does what it says is for tests of the runtime. Values;
// one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

struct Protocol {
  // The content of a member's word of a round.
  enum class Publishes : std::uint8_t {
    nothing,
    ready,   // the set of what may start there, as it was when the word was written
    choice,  // the one of them that its hint takes
  };
  // The decision that a member makes from the words of a round, once it sees all of them.
  enum class Decides : std::uint8_t {
    common_ready,  // its hint's choice of what is in every word
    any_ready,     // its hint's choice of what is in some word
    same_choice,   // the word, if all are the same
    most_choices,  // the word that more than half have
    leader,        // the word of member 0; nobody else publishes
    own_choice,    // no rounds: its own hint's choice
    first_come,    // no rounds: what reached it first
    one_event,     // no rounds: any task of the event, which brings several at once
  };
  // A member's answer to a decision for a task that may not start there.
  enum class Unready : std::uint8_t {
    waits,   // until it may
    passes,  // goes on to the next round without it
  };
  std::string name;
  Publishes publishes = Publishes::nothing;
  Decides decides = Decides::own_choice;
  Unready unready = Unready::waits;
  bool looks_again = false;        // decides on what may start there by then, not on the words
  bool stale_hint = false;         // the last member's hint prefers otherwise
  bool compares_shapes = false;    // two words are the same if their tasks have the same shape
  bool new_round_on_retry = true;  // else a new word replaces the old one of the same round
  int shared_slots = 0;            // above 0: so many tasks may be at a member before they start
};

// spec::Agree, as a protocol; not for `none`.
[[nodiscard]] Protocol right_protocol(spec::Agree agree);

struct ProtocolEvent {
  enum class Do : std::uint8_t {
    arrive,   // the task may start at the member from now on
    publish,  // the member's word of its round
    start,    // the member issues the task
    pass,     // the member goes on without the task it decided on, or has nothing to start
    await,    // the member decides on a task that may not start there yet
  };
  Do what = Do::arrive;
  int member = 0;
  int task = -1;
  bool operator==(const ProtocolEvent&) const = default;
};

// Executes a protocol for a small group and tasks 0 .. tasks-1, at most 8.
class ProtocolMachine {
 public:
  ProtocolMachine(const Protocol& protocol, int members, int tasks);

  struct Member {
    std::uint32_t arrived = 0;  // a bit per task
    std::vector<int> came;      // first_come: in order
    std::vector<int> issued;    // in order
    int round = 0;
    bool published = false;
    int awaits = -1;
    bool operator==(const Member&) const = default;
  };
  struct State {
    std::vector<Member> members;
    // The words of each round that some member is in: per member its word, or nothing.
    std::vector<std::vector<std::optional<std::uint32_t>>> words;
    bool operator==(const State&) const = default;
  };

  [[nodiscard]] State initial() const;
  [[nodiscard]] std::vector<ProtocolEvent> enabled(const State& state) const;
  void step(State& state, const ProtocolEvent& event) const;
  [[nodiscard]] bool done(const State& state) const;
  // Two members have issued different tasks as their n-th.
  [[nodiscard]] bool parted(const State& state) const;
  [[nodiscard]] std::string describe(const ProtocolEvent& event) const;

 private:
  struct Decision {
    bool made = false;        // all words are there
    std::uint32_t tasks = 0;  // those it may come to; none: a retry
  };
  [[nodiscard]] bool has_rounds() const;
  [[nodiscard]] bool writes(int member) const;
  [[nodiscard]] std::uint32_t ready(const Member& member) const;
  [[nodiscard]] std::uint32_t preferred(std::uint32_t tasks, int member) const;
  [[nodiscard]] std::uint32_t word(const State& state, int member) const;
  [[nodiscard]] Decision decision(const State& state, int member) const;
  [[nodiscard]] std::uint32_t decided(const std::vector<std::uint32_t>& words, const State& state,
                                      int member) const;
  void add_decisions(const State& state, int member, std::vector<ProtocolEvent>& events) const;
  void next_round(State& state, int member, bool retry) const;

  Protocol protocol_;
  int members_;
  int tasks_;
};

struct Trial {
  enum class Result : std::uint8_t {
    sound,    // members never part, and the end stays within reach
    parts,    // `run` ends with two members that have issued different tasks
    hangs,    // after `run` the end is out of reach
    too_many  // states to visit
  };
  Result result = Result::too_many;
  std::vector<ProtocolEvent> run;  // shortest
  std::size_t states = 0;
};
[[nodiscard]] Trial try_all(const Protocol& protocol, int members, int tasks,
                            std::size_t most_states);

}  // namespace ripeline::verify
