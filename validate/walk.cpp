#include "validate/walk.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <unordered_map>

#include <fmt/format.h>

#include "lower/facts.h"
#include "simulate/interpreter.h"
#include "validate/probe/probe.h"

namespace ripeline::simulate {
namespace {

using spec::Machine;
using spec::Program;

std::size_t hash_of(const Machine::State& state) {
  std::string bytes;
  bytes.reserve(state.tasks.size() + state.messages.size());
  for (const auto task : state.tasks) bytes += static_cast<char>(task);
  for (const auto message : state.messages) bytes += static_cast<char>(message);
  return spec::hash_of(bytes);
}

// The states seen, found again by all that they hold.
class States {
 public:
  // Whether it is new.
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

// A message to the rank, and the rank's own lanes that must have ended before it can come.
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

// What a hint with patience is told at the start of a step: nothing; or when messages are expected,
// and that its consumers have taken nothing, or all that they will.
enum class Prompt : std::uint8_t { nothing, expected, taken };

// Times for a hint with patience: costs, an event each kEvent, and where `now` is asked for.
constexpr int kTask = 100;
constexpr int kLink = 20;
constexpr int kNoticeTakes = 5;
constexpr int kEvent = 60;
constexpr int kAsked[] = {0, 50, 120, 400};

// One rank with one count.
class RankWalk {
 public:
  RankWalk(const Program& program, const core::ProgramFacts& facts, int rank, int microbatches,
           std::int64_t limit, Prompt told, Walk& out)
      : program_(program),
        arbiter_(program, facts, rank),
        incoming_(incoming_of(program, rank)),
        rank_(rank),
        microbatches_(microbatches),
        limit_(limit),
        waits_(patience_of(program).has_value()),
        told_(told),
        out_(out) {
    for (int edge = 0; edge < static_cast<int>(program.edges.size()); ++edge) {
      const spec::Edge& e = at(program.edges, edge);
      const bool leaves = at(program.lanes, e.producer).rank == rank && program.crosses_ranks(e);
      if (e.rendezvous && leaves) rendezvous_.push_back(edge);
    }
  }

  // False: the limit left states out.
  bool run() {
    out_.script += fmt::format("rank {}\n", rank_);
    if (waits_) {
      out_.script += fmt::format("costs {} {} {}\n", kTask, kLink, kNoticeTakes);
      arbiter_.expect(
          {.tasks = std::vector<core::Time>(program_.lanes.size(), core::Time{kTask}),
           .varying = {},
           .links = std::vector<core::Time>(program_.edges.size(), core::Time{kLink}),
           .notices = std::vector<core::Time>(program_.edges.size(), core::Time{kNoticeTakes})});
    }
    if (!arbiter_.begin_step(0, microbatches_).ok()) {
      out_.script += fmt::format("begin {}\n", microbatches_);
      out_.expected += "refused\n";
      return true;
    }
    begin(true);
    states_.add(arbiter_.state());
    see();
    explore(arbiter_.moment());
    return complete_;
  }
  [[nodiscard]] std::int64_t states() const { return states_.size(); }

 private:
  struct Event {
    const char* what;
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

  std::vector<Event> events(const InterpretedArbiter::Moment& moment) {
    std::vector<Event> found;
    const Machine::State& state = moment.state;
    arbiter_.restore(moment);
    for (const core::Engine engine : core::kAllEngines) {
      core::TaskSet ready;
      arbiter_.ready(engine, ready);
      for (int lane = program_.first_lane(rank_); lane < program_.first_lane(rank_ + 1); ++lane) {
        for (int m = 0; m < microbatches_; ++m) {
          if (ready.contains({lane, m})) found.push_back({"start", lane, m});
        }
      }
    }
    for (int lane = program_.first_lane(rank_); lane < program_.first_lane(rank_ + 1); ++lane) {
      for (int m = 0; m < microbatches_; ++m) {
        if (task(state, lane, m) == Machine::TaskState::running) found.push_back({"end", lane, m});
      }
    }
    for (const int edge : rendezvous_) {
      for (int m = 0; m < microbatches_; ++m) {
        const auto at = static_cast<std::size_t>(edge * microbatches_ + m);
        const bool handed = state.messages[at] == Machine::MessageState::sent;
        if (handed) found.push_back({"taken", edge, m});
      }
    }
    for (const IncomingMessage& incoming : incoming_) {
      for (int m = 0; m < microbatches_; ++m) {
        if (may_arrive(state, incoming, m)) found.push_back({"arrive", incoming.edge, m});
      }
    }
    return found;
  }

  [[nodiscard]] core::Time now() const {
    return core::Time{kEvent * static_cast<int>(path_.size())};
  }

  // Writes the start of a step, and what is told then; `tell`: also to the arbiter.
  void begin(bool tell) {
    out_.script += fmt::format("begin {}\n", microbatches_);
    if (!waits_) return;
    out_.script += "now 0\n";
    if (told_ == Prompt::nothing) return;
    for (const IncomingMessage& incoming : incoming_) {
      const spec::Edge& e = at(program_.edges, incoming.edge);
      for (int m = 0; m < program_.tasks_of(e.producer, microbatches_); ++m) {
        const int in = kTask * (2 * m + 1 + incoming.edge % 2);
        out_.script += fmt::format("notice {} {} {}\n", incoming.edge, m, in);
        if (tell) {
          arbiter_.on_notice({.message = {incoming.edge, m}, .in = core::Time{in}}, core::Time{0});
        }
      }
    }
    if (told_ == Prompt::taken) begin_taken(tell);
  }

  void begin_taken(bool tell) {
    for (int edge = 0; edge < static_cast<int>(program_.edges.size()); ++edge) {
      const spec::Edge& e = at(program_.edges, edge);
      if (at(program_.lanes, e.producer).rank != rank_ || !program_.crosses_ranks(e)) {
        continue;
      }
      out_.script += fmt::format("took {} {}\n", edge, microbatches_);
      core::Notice notice;
      notice.kind = core::Notice::Kind::taken;
      notice.message.edge = edge;
      notice.count = microbatches_;
      if (tell) arbiter_.on_notice(notice, core::Time{0});
    }
  }

  // Of the event that comes after `before` others.
  void write(const Event& event, std::size_t before) {
    if (waits_) out_.script += fmt::format("now {}\n", kEvent * static_cast<int>(before));
    out_.script += fmt::format("{} {} {}\n", event.what, event.id, event.microbatch);
  }

  void apply(const Event& event) {
    const std::string_view what = event.what;
    if (what == "start") arbiter_.started({event.id, event.microbatch}, now());
    if (what == "end") arbiter_.on_finished({event.id, event.microbatch}, now());
    if (what == "taken") arbiter_.on_taken({event.id, event.microbatch}, now());
    if (what == "arrive") arbiter_.on_arrived({event.id, event.microbatch}, now());
  }

  void see() {
    if (waits_) {
      for (const int after : kAsked) {
        const core::Time at = now() + core::Time{after};
        out_.script += fmt::format("now {}\n?\n", at.count());
        out_.expected += core::look(arbiter_, microbatches_, at) + "\n";
      }
      return;
    }
    out_.script += "?\n";
    out_.expected += core::look(arbiter_, microbatches_) + "\n";
  }

  // Depth first; the script stands at `state`, which path_ leads to.
  void explore(const InterpretedArbiter::Moment& moment) {
    bool here = true;
    for (const Event& event : events(moment)) {
      if (!here) {
        begin(false);
        for (std::size_t i = 0; i < path_.size(); ++i) write(path_[i], i);
      }
      here = false;
      arbiter_.restore(moment);
      write(event, path_.size());
      apply(event);
      see();
      if (!states_.add(arbiter_.state())) continue;
      const InterpretedArbiter::Moment next = arbiter_.moment();
      if (states_.size() >= limit_) {
        complete_ = false;
        return;
      }
      path_.push_back(event);
      explore(next);
      path_.pop_back();
      if (!complete_) return;
    }
  }

  const Program& program_;
  InterpretedArbiter arbiter_;
  std::vector<IncomingMessage> incoming_;
  std::vector<int> rendezvous_;  // edges that leave this rank
  int rank_;
  int microbatches_;
  std::int64_t limit_;
  bool waits_;  // the hint does
  Prompt told_;
  Walk& out_;
  States states_;
  std::vector<Event> path_;
  bool complete_ = true;
};

// start 0 1, of an event, for people: start 0F1.
std::string event_text(const Program& program, const std::string& step) {
  std::istringstream in(step);
  std::string what;
  int id = 0;
  int m = 0;
  if (!(in >> what >> id >> m)) return step;
  if (what == "notice" || what == "took" || what == "costs") return step;
  if (what != "arrive" && what != "taken") return what + " " + program.task_name(id, m);
  const spec::Edge& e = at(program.edges, id);
  return fmt::format("{} {} at {}", what, program.task_name(e.producer, m),
                     program.lane_name(e.consumer));
}

// 0/1, of an answer, for people: 0F1.
std::string answer_text(const Program& program, const std::string& answer) {
  std::istringstream in(answer);
  std::string text;
  for (std::string word; in >> word;) {
    int lane = 0;
    int m = 0;
    char rest = 0;
    const bool is_task = std::sscanf(word.c_str(), "%d/%d%c", &lane, &m, &rest) == 2 && lane >= 0 &&
                         lane < static_cast<int>(program.lanes.size());
    if (word == "?") continue;
    text += (text.empty() ? "" : " ") + (is_task ? program.task_name(lane, m) : word);
  }
  return text;
}

std::vector<Prompt> told_to(const Program& program) {
  if (!patience_of(program)) return {Prompt::nothing};
  return {Prompt::nothing, Prompt::expected, Prompt::taken};
}

}  // namespace

Walk walk_of(const Program& program, const WalkLimits& limits) {
  Walk walk;
  const core::OwnedFacts storage = lower::facts_of(program);
  const int least = program.microbatches.min;
  const int most = program.microbatches.max.value_or(least + limits.counts - 1);
  std::int64_t left = limits.states;
  for (int m = least; m <= std::min(most, least + limits.counts - 1) && left > 0; ++m) {
    Walk attempt;
    Walk::Size size{m, 0, true};
    for (const Prompt told : told_to(program)) {
      for (int rank = 0; rank < program.ranks && left > 0; ++rank) {
        RankWalk one(program, storage.facts(), rank, m, std::min(limits.states_of_rank, left), told,
                     attempt);
        size.complete = one.run() && size.complete;
        size.states += one.states();
        left -= one.states();
      }
    }
    if (left <= 0) size.complete = false;
    walk.script += attempt.script;
    walk.expected += attempt.expected;
    walk.sizes.push_back(size);
    if (!size.complete) break;  // a larger count has more states still
  }
  if (program.microbatches.max) {
    walk.script += fmt::format("rank 0\nbegin {}\n", *program.microbatches.max + 1);
    walk.expected += "refused\n";
  }
  return walk;
}

std::optional<std::string> first_difference(const Program& program, const std::string& script,
                                            const std::string& expected, const std::string& found) {
  std::istringstream steps(script);
  std::istringstream left(expected);
  std::istringstream right(found);
  std::string rank;
  std::string events;
  std::string step;
  std::string a;
  std::string b;
  bool begun = false;
  while (std::getline(steps, step)) {
    if (step.starts_with("rank")) rank = step;
    if (step.starts_with("begin")) events.clear();
    if (step != "?") {
      events += (events.empty() ? "" : ", ") + event_text(program, step);
      begun = step.starts_with("begin");
    }
    // A refused `begin` is answered as well.
    const auto next = left.peek();
    if (step != "?" && !(begun && next == 'r')) continue;
    const bool more = static_cast<bool>(std::getline(left, a));
    if (!std::getline(right, b)) b = "no answer";
    if (more && a == b) continue;
    return fmt::format("{} of {}, after {}:\n  specified {}\n  emitted   {}\n", rank, program.name,
                       events, answer_text(program, a), answer_text(program, b));
  }
  if (std::getline(right, b)) return "more answers than asked for: " + b + "\n";
  return std::nullopt;
}

}  // namespace ripeline::simulate
