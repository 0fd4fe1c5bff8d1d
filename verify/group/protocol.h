// Protocols by which the members of a tensor-parallel group come to start tasks in one order.
//
// spec/group.h has an agreement as one event; here it has parts: what members publish, when they
// read, how they decide and what they do if the decision has no result. A protocol is a plain
// description, so that the right one and those that are almost right differ by one field. Tasks are
// numbers; each task arrives at each member at a different time, and may start there from then on,
// since the set of tasks that may start only grows while nothing starts.
//
// agrees_for_every_size() asks the solver for the step of an induction over rounds: if two members,
// among any number, have issued the same tasks up to a round, they issue the same task in it.
// try_all() visits every state of a small group and checks also that the end can always be reached.
// Both are exact for the description; tests of the runtime check that the runtime does what the
// description says. Values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

struct Protocol {
  // The content that a member publishes in a round, which is called its word.
  enum class Publishes : std::uint8_t {
    nothing,
    ready,   // the set of tasks that may start at the member when it publishes
    choice,  // the task of this set that the member's hint chooses
  };
  // A member's decision, made once it sees what all members published in the round.
  enum class Decides : std::uint8_t {
    common_ready,  // its hint's choice among the tasks that are in every word
    any_ready,     // its hint's choice among the tasks that are in some word
    same_choice,   // the word, if all are the same
    most_choices,  // the word that more than half of the members published
    leader,        // the word of member 0, the only one that publishes
    own_choice,    // no rounds: its own hint's choice
    first_come,    // no rounds: the task that arrived at this member first
    one_event,     // no rounds: any task of the event, in which several may arrive
  };
  // A member's answer to a decision for a task that is not ready at this member.
  enum class Unready : std::uint8_t {
    waits,   // waits until the task may start
    passes,  // proceeds to the next round without the task
  };
  std::string name;
  Publishes publishes = Publishes::nothing;
  Decides decides = Decides::own_choice;
  Unready unready = Unready::waits;
  bool looks_again = false;        // decides by the tasks that are ready now, not by the words
  bool stale_hint = false;         // the last member's hint prefers other tasks
  bool compares_shapes = false;    // words count as the same if their tasks have the same shape
  bool new_round_on_retry = true;  // if false, a new word replaces the old one of the same round
  int shared_slots = 0;            // if above 0, the most unstarted tasks at a member
};

// The protocol of a spec::Agree other than `none`.
[[nodiscard]] Protocol right_protocol(spec::Agree agree);

struct ProtocolEvent {
  enum class Do : std::uint8_t {
    arrive,   // the task may start at the member from now on
    publish,  // the member publishes its word of its round
    start,    // the member issues the task
    pass,     // the member drops the task it decided on, or has no task to start
    await,    // the member decides on a task that is not ready yet
  };
  Do what = Do::arrive;
  int member = 0;
  int task = -1;
  bool operator==(const ProtocolEvent&) const = default;
};

// Executes a protocol for a small group and the tasks 0 to `tasks` - 1, at most 8.
class ProtocolMachine {
 public:
  ProtocolMachine(const Protocol& protocol, int members, int tasks);

  struct Member {
    std::uint32_t arrived = 0;  // a bit per task
    std::vector<int> came;      // for first_come: the tasks in order of arrival
    std::vector<int> issued;    // the issued tasks, in order
    int round = 0;
    bool published = false;
    int awaits = -1;
    bool operator==(const Member&) const = default;
  };
  struct State {
    std::vector<Member> members;
    // For each round that some member is still in, the word of each member, or nullopt.
    std::vector<std::vector<std::optional<std::uint32_t>>> words;
    bool operator==(const State&) const = default;
  };

  [[nodiscard]] State initial() const;
  [[nodiscard]] std::vector<ProtocolEvent> enabled(const State& state) const;
  void step(State& state, const ProtocolEvent& event) const;
  [[nodiscard]] bool done(const State& state) const;
  // True if two members have issued different tasks as their n-th.
  [[nodiscard]] bool parted(const State& state) const;
  [[nodiscard]] std::string describe(const ProtocolEvent& event) const;

 private:
  struct Decision {
    bool made = false;        // all words are published
    std::uint32_t tasks = 0;  // the tasks that it may decide on; if none, the round is retried
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
    sound,    // members never part, and the end can always be reached
    parts,    // `run` ends with two members that have issued different tasks
    hangs,    // after `run` the end cannot be reached
    too_many  // there are too many states to visit
  };
  Result result = Result::too_many;
  std::vector<ProtocolEvent> run;  // the shortest
  std::size_t states = 0;
};
[[nodiscard]] Trial try_all(const Protocol& protocol, int members, int tasks,
                            std::size_t most_states);

}  // namespace ripeline::verify
