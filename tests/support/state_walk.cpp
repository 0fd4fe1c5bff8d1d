#include "tests/support/state_walk.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/vocabulary/index.h"
#include "lower/facts.h"
#include "simulate/interpreter.h"

namespace ripeline::testing_support {
namespace {

using simulate::InterpretedArbiter;
using spec::Machine;
using spec::Program;
using Moment = InterpretedArbiter::Moment;

std::string name(core::Task task) {
  return " " + std::to_string(task.lane) + "/" + std::to_string(task.microbatch);
}

// The text for a choice that starts no task.
std::string idle_text(const core::Choice& choice) {
  if (choice.kind != core::Choice::Kind::hold) return " nothing";
  return " hold " + std::to_string(choice.until.count());
}

// The ready tasks, as the arbiter lists them, and in the order in which it would choose them.
std::string look(const core::Arbiter& arbiter, core::Engine engine, int microbatches,
                 core::Time now) {
  const core::ProgramFacts& facts = arbiter.facts();
  core::TaskSet left;
  arbiter.ready(engine, left);
  std::string text = " ready";
  std::size_t count = 0;
  for (core::LaneId lane = 0; index(lane) < facts.lanes.size(); ++lane) {
    if (facts.lanes[index(lane)].rank != arbiter.rank()) continue;
    for (int m = 0; m < microbatches; ++m) {
      if (!left.contains({lane, m})) continue;
      text += name({lane, m});
      ++count;
    }
  }
  const core::Choice free = arbiter.choose(engine, nullptr, now);
  text += " choose" + (free.starts() ? name(free.task) : idle_text(free)) + " then";
  for (; count > 0; --count) {
    const core::Choice choice = arbiter.choose(engine, &left, now);
    if (!choice.starts()) return text + idle_text(choice);
    text += name(choice.task);
    const bool known = choice.task.lane >= 0 && index(choice.task.lane) < facts.lanes.size() &&
                       facts.lanes[index(choice.task.lane)].rank == arbiter.rank() &&
                       choice.task.microbatch >= 0 && choice.task.microbatch < microbatches;
    if (!known || !left.contains(choice.task)) return text + " which was not allowed";
    left.remove(choice.task);
  }
  if (arbiter.choose(engine, &left, now).starts()) text += " and more";
  const bool asked = std::any_of(facts.edges.begin(), facts.edges.end(),
                                 [](const core::EdgeFacts& e) { return e.rendezvous; });
  return asked ? text + " next" + name(arbiter.next_in_order(engine)) : text;
}

// The visible part of a state, for each engine: the ready tasks; the same tasks in the order of
// choice, each chosen among those that are left; and, with rendezvous, the next task of the
// order.
std::string look(const core::Arbiter& arbiter, int microbatches, core::Time now) {
  std::array<bool, core::kEngines> used{};
  for (const core::LaneFacts& lane : arbiter.facts().lanes) {
    if (lane.rank == arbiter.rank()) used[static_cast<std::size_t>(lane.engine)] = true;
  }
  std::string text;
  for (std::size_t engine = 0; engine < used.size(); ++engine) {
    if (used[engine]) text += look(arbiter, static_cast<core::Engine>(engine), microbatches, now);
  }
  return text;
}

std::size_t hash_of(const Machine::State& state) {
  std::string bytes;
  bytes.reserve(state.tasks.size() + state.messages.size());
  for (const auto task : state.tasks) bytes += static_cast<char>(task);
  for (const auto message : state.messages) bytes += static_cast<char>(message);
  return spec::hash_of(bytes);
}

// The visited states; states are compared completely.
class States {
 public:
  // Returns true if the state is new.
  bool add(const Machine::State& state) {
    std::vector<Machine::State>& same = states_[hash_of(state)];
    if (std::find(same.begin(), same.end(), state) != same.end()) return false;
    same.push_back(state);
    ++size_;
    return true;
  }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  std::unordered_map<std::size_t, std::vector<Machine::State>> states_;
  std::int64_t size_ = 0;
};

// A message to the rank, and the rank's lanes whose tasks must end before the message can arrive.
struct IncomingMessage {
  int edge = -1;
  std::vector<int> behind;
};

std::vector<IncomingMessage> incoming_of(const Program& program, int rank) {
  std::vector<IncomingMessage> found;
  for (int edge = 0; edge < static_cast<int>(program.edges.size()); ++edge) {
    const spec::Edge& e = at(program.edges, edge);
    if (at(program.lanes, e.consumer).rank != rank || !program.crosses_ranks(e)) continue;
    IncomingMessage incoming{edge, {}};
    for (const int lane : spec::ancestors(program, e.producer)) {
      if (at(program.lanes, lane).rank == rank) incoming.behind.push_back(lane);
    }
    found.push_back(std::move(incoming));
  }
  return found;
}

// The notices that a hint with patience gets at the start of a step: none; that messages are
// expected; or also that the rank's messages have all been taken by their consumers.
enum class Prompt : std::uint8_t { nothing, expected, taken };

// Times for a hint with patience: costs, the time between events, and the times of choices.
constexpr int kTask = 100;
constexpr int kLink = 20;
constexpr int kNoticeTakes = 5;
constexpr int kEvent = 60;
constexpr int kAsked[] = {0, 50, 120, 400};

// The walk of one rank with one number of microbatches.
class RankWalk {
 public:
  RankWalk(const Program& program, const core::ProgramFacts& facts, int rank, int microbatches,
           std::int64_t limit, Prompt told, core::Arbiter& other)
      : program_(program),
        machine_(program, facts, rank),
        other_(other),
        incoming_(incoming_of(program, rank)),
        rank_(rank),
        microbatches_(microbatches),
        limit_(limit),
        waits_(facts.dispatch.patience.has_value()),
        told_(told) {
    for (int edge = 0; edge < size_of(program.edges); ++edge) {
      const spec::Edge& e = at(program.edges, edge);
      const bool leaves = at(program.lanes, e.producer).rank == rank && program.crosses_ranks(e);
      if (e.rendezvous && leaves) rendezvous_.push_back(edge);
    }
  }

  void run() {
    if (waits_) {
      const core::Costs costs{
          .tasks = std::vector<core::Time>(program_.lanes.size(), core::Time{kTask}),
          .varying = {},
          .links = std::vector<core::Time>(program_.edges.size(), core::Time{kLink}),
          .notices = std::vector<core::Time>(program_.edges.size(), core::Time{kNoticeTakes})};
      machine_.expect(costs);
      other_.expect(costs);
    }
    const bool begins = machine_.begin_step(0, microbatches_).ok();
    if (other_.begin_step(0, microbatches_).ok() != begins) difference_ = "one refuses to begin";
    if (!begins || !difference_.empty()) return;
    prompt(machine_);
    prompt(other_);
    states_.add(machine_.state());
    see(nullptr);
    explore(machine_.moment());
  }
  [[nodiscard]] std::int64_t states() const { return states_.size(); }
  [[nodiscard]] bool is_complete() const { return complete_; }  // no limit left states out
  [[nodiscard]] const std::string& difference() const { return difference_; }

 private:
  struct Event {
    enum class Do : std::uint8_t { start, end, taken, arrive };
    Do what;
    int id;
    int microbatch;
  };

  [[nodiscard]] Machine::TaskState task(const Machine::State& state, int lane, int m) const {
    return state.tasks[static_cast<std::size_t>(lane * microbatches_ + m)];
  }

  [[nodiscard]] bool may_arrive(const Machine::State& state, const IncomingMessage& incoming,
                                int m) const {
    const spec::Edge& e = at(program_.edges, incoming.edge);
    if (m >= program_.tasks_of(e.producer, microbatches_)) return false;
    if (program_.needed_by(e, m, microbatches_) < 0) return false;
    const auto at = static_cast<std::size_t>(incoming.edge * microbatches_ + m);
    if (state.messages[at] == Machine::MessageState::arrived) return false;
    return std::all_of(incoming.behind.begin(), incoming.behind.end(), [&](int lane) {
      const int last = program_.tasks_of(lane, microbatches_) - 1;
      return last < 0 || task(state, lane, std::min(m, last)) == Machine::TaskState::ended;
    });
  }

  std::vector<Event> events(const Moment& moment) {
    std::vector<Event> found;
    const Machine::State& state = moment.state;
    machine_.restore(moment);
    for (const core::Engine engine : core::kAllEngines) {
      core::TaskSet ready;
      machine_.ready(engine, ready);
      for (int lane = program_.first_lane(rank_); lane < program_.first_lane(rank_ + 1); ++lane) {
        for (int m = 0; m < microbatches_; ++m) {
          if (ready.contains({lane, m})) found.push_back({Event::Do::start, lane, m});
        }
      }
    }
    for (int lane = program_.first_lane(rank_); lane < program_.first_lane(rank_ + 1); ++lane) {
      for (int m = 0; m < microbatches_; ++m) {
        if (task(state, lane, m) == Machine::TaskState::running)
          found.push_back({Event::Do::end, lane, m});
      }
    }
    for (const int edge : rendezvous_) {
      for (int m = 0; m < microbatches_; ++m) {
        const auto at = static_cast<std::size_t>(edge * microbatches_ + m);
        const bool handed = state.messages[at] == Machine::MessageState::sent;
        if (handed) found.push_back({Event::Do::taken, edge, m});
      }
    }
    for (const IncomingMessage& incoming : incoming_) {
      for (int m = 0; m < microbatches_; ++m) {
        if (may_arrive(state, incoming, m)) found.push_back({Event::Do::arrive, incoming.edge, m});
      }
    }
    return found;
  }

  [[nodiscard]] core::Time now() const {
    return core::Time{kEvent * static_cast<int>(path_.size())};
  }

  void prompt(core::Arbiter& arbiter) const {
    if (!waits_ || told_ == Prompt::nothing) return;
    for (const IncomingMessage& incoming : incoming_) {
      const spec::Edge& e = at(program_.edges, incoming.edge);
      for (int m = 0; m < program_.tasks_of(e.producer, microbatches_); ++m) {
        const int in = kTask * (2 * m + 1 + incoming.edge % 2);
        arbiter.on_notice({.message = {incoming.edge, m}, .in = core::Time{in}}, core::Time{0});
      }
    }
    if (told_ != Prompt::taken) return;
    for (int edge = 0; edge < size_of(program_.edges); ++edge) {
      const spec::Edge& e = at(program_.edges, edge);
      if (at(program_.lanes, e.producer).rank != rank_ || !program_.crosses_ranks(e)) continue;
      core::Notice notice;
      notice.kind = core::Notice::Kind::taken;
      notice.message.edge = edge;
      notice.count = microbatches_;
      arbiter.on_notice(notice, core::Time{0});
    }
  }

  static void apply(core::Arbiter& arbiter, const Event& event, std::size_t before) {
    const core::Time now{kEvent * static_cast<int>(before)};
    switch (event.what) {
      case Event::Do::start:
        return arbiter.started({event.id, event.microbatch}, now);
      case Event::Do::end:
        return arbiter.on_finished({event.id, event.microbatch}, now);
      case Event::Do::taken:
        return arbiter.on_taken({event.id, event.microbatch}, now);
      case Event::Do::arrive:
        return arbiter.on_arrived({event.id, event.microbatch}, now);
    }
  }

  [[nodiscard]] std::string text_of(const Event& event) const {
    if (event.what == Event::Do::start) return program_.task_name(event.id, event.microbatch);
    if (event.what == Event::Do::end) {
      return "end " + program_.task_name(event.id, event.microbatch);
    }
    const spec::Edge& e = at(program_.edges, event.id);
    return (event.what == Event::Do::taken ? "taken " : "arrive ") +
           program_.task_name(e.producer, event.microbatch);
  }

  // Compares both arbiters after the events of the path, followed by `last`, if there is one.
  void see(const Event* last) {
    std::vector<core::Time> asked = {now()};
    if (waits_) {
      asked.clear();
      for (const int after : kAsked) asked.push_back(now() + core::Time{after});
    }
    for (const core::Time at : asked) {
      const std::string expected = look(machine_, microbatches_, at);
      const std::string found = look(other_, microbatches_, at);
      if (expected == found) continue;
      difference_ = fmt::format("rank {}, {} microbatches, after", rank_, microbatches_);
      for (const Event& event : path_) difference_ += " " + text_of(event);
      if (last != nullptr) difference_ += " " + text_of(*last);
      difference_ += fmt::format("\n  expected{}\n  found   {}", expected, found);
      return;
    }
  }

  // Walks depth first. Both arbiters are in the state of `moment`, to which path_ leads.
  void explore(const Moment& moment) {
    bool here = true;
    for (const Event& event : events(moment)) {
      if (!here) {
        static_cast<void>(other_.begin_step(0, microbatches_));
        prompt(other_);
        for (std::size_t i = 0; i < path_.size(); ++i) apply(other_, path_[i], i);
      }
      here = false;
      machine_.restore(moment);
      apply(machine_, event, path_.size());
      apply(other_, event, path_.size());
      see(&event);
      if (!difference_.empty()) return;
      if (!states_.add(machine_.state())) continue;
      const Moment next = machine_.moment();
      if (states_.size() >= limit_) {
        complete_ = false;
        return;
      }
      path_.push_back(event);
      explore(next);
      path_.pop_back();
      if (!complete_ || !difference_.empty()) return;
    }
  }

  const Program& program_;
  InterpretedArbiter machine_;
  core::Arbiter& other_;
  std::vector<IncomingMessage> incoming_;
  std::vector<int> rendezvous_;  // edges that leave this rank
  int rank_;
  int microbatches_;
  std::int64_t limit_;
  bool waits_;  // the hint has patience
  Prompt told_;
  States states_;
  std::vector<Event> path_;
  bool complete_ = true;
  std::string difference_;
};

}  // namespace

WalkedStates walk_states(const Program& program,
                         const std::function<std::unique_ptr<core::Arbiter>(int rank)>& make,
                         const WalkLimits& limits) {
  WalkedStates walked;
  const core::OwnedFacts storage = lower::facts_of(program);
  std::vector<Prompt> prompts = {Prompt::nothing};
  if (storage.facts().dispatch.patience)
    prompts = {Prompt::nothing, Prompt::expected, Prompt::taken};
  const int least = program.microbatches.min;
  const int most = std::min(program.microbatches.max.value_or(least + limits.counts - 1),
                            least + limits.counts - 1);
  for (int m = least; m <= most; ++m) {
    bool complete = true;
    for (const Prompt told : prompts) {
      for (int rank = 0; rank < program.ranks; ++rank) {
        const std::int64_t left = limits.states - walked.states;
        if (left <= 0) return walked;
        const std::unique_ptr<core::Arbiter> other = make(rank);
        RankWalk one(program, storage.facts(), rank, m, std::min(limits.states_of_rank, left), told,
                     *other);
        one.run();
        walked.states += one.states();
        walked.difference = one.difference();
        if (!walked.difference.empty()) return walked;
        complete = complete && one.is_complete();
      }
    }
    if (!complete) break;  // larger counts have even more states
    ++walked.complete;
  }
  return walked;
}

}  // namespace ripeline::testing_support
