#include "core/wait_graph.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/print.h"
#include "core/vocabulary/cycle.h"
#include "core/vocabulary/index.h"

namespace ripeline::core {
namespace {

using For = Wait::For;
using Why = Blame::Why;

constexpr int kFar = std::numeric_limits<int>::max();

// The end of a chain.
struct Sink {
  int process = -1;
  Why why = Why::nobody;
  Task task;
  Time since{0};
  // There is one sink for each process and reason; for running tasks, one for each task.
  [[nodiscard]] auto key() const {
    const Task of = why == Why::runs ? task : Task{};
    return std::tuple(process, why, of.lane, of.microbatch);
  }
};

// The nodes are the waits, by process and in the order of the process's report; then the sinks.
class WaitGraph {
 public:
  WaitGraph(const ProgramFacts& facts, const Layout& layout, std::span<const RankState> states)
      : facts_(facts), layout_(layout), states_(states) {
    first_.push_back(0);
    for (std::size_t process = 0; process < states.size(); ++process) {
      if (is_well(process)) {
        for (const Wait& wait : states[process].waits.waits) {
          if (fits(facts, wait)) links_.push_back({static_cast<int>(process), wait});
        }
      }
      first_.push_back(links_.size());
    }
    for (std::size_t process = 0; process < states.size(); ++process) {
      if (!is_well(process)) (void)standing(static_cast<int>(process));
    }
    for (std::size_t i = 0; i < links_.size(); ++i) {
      std::vector<std::size_t> next = follow(links_[i]);
      next_.push_back(std::move(next));
    }
    before_.resize(links_.size() + sinks_.size());
    for (std::size_t i = 0; i < next_.size(); ++i) {
      for (const std::size_t node : next_[i]) before_[node].push_back(i);
    }
  }

  Blame blame(int from) const {
    std::size_t best = sinks_.size();
    Way way;
    for (std::size_t sink = 0; sink < sinks_.size(); ++sink) {
      Way found = way_to(sink);
      if (best < sinks_.size() && !comes_first(sinks_[sink], found, sinks_[best], way)) continue;
      best = sink;
      way = std::move(found);
    }
    if (best == sinks_.size()) return circle();
    return of_sink(sinks_[best], way, from);
  }

 private:
  // The way to a sink: each wait's distance to the sink, and how many processes wait for the sink.
  struct Way {
    std::vector<int> steps;
    std::int64_t processes = 0;
  };
  using Nodes = std::vector<std::size_t>;

  [[nodiscard]] bool is_well(std::size_t process) const {
    return states_[process].is == RankState::Is::well;
  }
  // Whether `process` is in an earlier step, so its report lacks the task that `other` waits for.
  [[nodiscard]] bool is_behind(int process, int other) const {
    return states_[index(process)].waits.step < states_[index(other)].waits.step;
  }
  [[nodiscard]] bool exists(int process) const {
    return process >= 0 && index(process) < states_.size();
  }

  // ------------------------------------------------------------- what a wait waits for

  // The node of a sink. Sinks are numbered after all waits, so the waits must be known before.
  Nodes sink(Sink sink) {
    const auto [place, added] = known_.emplace(sink.key(), sinks_.size());
    if (added) sinks_.push_back(sink);
    // Stores the earliest of the tasks that the process owes, or might start.
    Task& task = sinks_[place->second].task;
    const auto order = [](Task t) { return std::pair(t.microbatch, t.lane); };
    if (sink.task.lane >= 0 && (task.lane < 0 || order(sink.task) < order(task))) task = sink.task;
    return {links_.size() + place->second};
  }
  Nodes standing(int process) {
    const RankState& state = states_[index(process)];
    const Why why = state.is == RankState::Is::failed ? Why::failed
                    : state.is == RankState::Is::lost ? Why::lost
                                                      : Why::silent;
    return sink({process, why, {}, state.since});
  }
  Nodes starts(const Blame::Link& link) {
    return sink({link.process, Why::starts, link.wait.task});
  }

  template <class Fits>
  Nodes waits_of(int process, const Fits& fits) const {
    Nodes found;
    for (std::size_t i = first_[index(process)]; i < first_[index(process) + 1]; ++i) {
      if (fits(links_[i].wait)) found.push_back(i);
    }
    return found;
  }
  // Nodes for the first running task that satisfies `is`, or for processes that must start it too.
  template <class Fits>
  Nodes runs(int process, const Fits& is) {
    for (const RunningTask& running : states_[index(process)].waits.running) {
      if (!fits(facts_, running.task) || !is(running.task)) continue;
      Nodes others = others_of(process, running.task);
      if (!others.empty()) return others;
      return sink({process, Why::runs, running.task, running.since});
    }
    return {};
  }
  // A task with collectives that runs at `process` ends once all members have started it; so the
  // chain continues with what the other members do instead of starting it.
  Nodes others_of(int process, Task task) {
    Nodes found;
    const auto add = [&](const Nodes& more) {
      found.insert(found.end(), more.begin(), more.end());
    };
    for (const int other : together_with(process, task)) {
      if (!exists(other)) continue;
      if (!is_well(index(other))) {
        add(standing(other));
        continue;
      }
      const Nodes waits = waits_of(other, [&](const Wait& w) {
        return !w.is_of_message() && w.task.lane == task.lane &&
               w.task.microbatch <= task.microbatch;
      });
      const Nodes instead = runs_instead(other, task);
      add(instead.empty() ? waits : instead);
    }
    return found;
  }
  // The other processes that must run the task together with `process`.
  [[nodiscard]] std::vector<int> together_with(int process, Task task) const {
    const LaneFacts& lane = facts_.lanes[index(task.lane)];
    std::vector<int> others;
    Coordinates who = layout_.at(process);
    if (std::count(facts_.collectives.begin(), facts_.collectives.end(), task.lane) > 0) {
      for (int& member = who.member = 0; member < layout_.members; ++member) {
        others.push_back(layout_.process(who));
      }
    } else if (facts_.ops[index(lane.op)].kind == OpKind::reduce) {
      for (int& replica = who.replica = 0; replica < layout_.replicas; ++replica) {
        others.push_back(layout_.process(who));
      }
    }
    std::erase(others, process);
    return others;
  }
  // The task that `process` runs instead of `task`, on the same engine.
  Nodes runs_instead(int process, Task task) {
    const auto engine_of = [&](Task t) { return facts_.lanes[index(t.lane)].engine; };
    for (const RunningTask& running : states_[index(process)].waits.running) {
      if (!fits(facts_, running.task) || running.task == task) continue;
      if (engine_of(running.task) != engine_of(task)) continue;
      return sink({process, Why::runs, running.task, running.since});
    }
    return {};
  }
  // The process whose ballot is missing; -1 if it is not known.
  [[nodiscard]] int agreeing(const Blame::Link& link) const {
    Coordinates who = layout_.at(link.process);
    const LaneFacts& lane = facts_.lanes[index(link.wait.task.lane)];
    const Agreeing among = facts_.agreeing(lane.rank, lane.engine);
    if (link.wait.on < 0 || link.wait.on >= among.size) return -1;
    (among.who == Agreeing::Who::replicas ? who.replica : who.member) = link.wait.on;
    return layout_.process(who);
  }
  // The process of the rank that must act first for the wait; -1 if there is none. A wait that came
  // from another process may name a rank that the layout lacks.
  [[nodiscard]] int owner(const Blame::Link& link) const {
    const int rank = link.wait.on;
    if (rank >= layout_.ranks) return layout_.is_flat() ? rank : -1;
    return rank < 0 ? -1 : layout_.of_rank(link.process, rank);
  }

  Nodes follow(const Blame::Link& link) {
    const Wait& wait = link.wait;
    switch (wait.reason) {
      case For::need: {
        const EdgeFacts& e = facts_.edges[index(wait.message.edge)];
        const Task producer{e.producer, wait.message.microbatch};
        if (owner(link) != link.process || !facts_.crosses_ranks(wait.message.edge)) {
          return task_of(owner(link), producer, wait.message, link);
        }
        return wait.other.lane < 0 ? starts(link) : task_of(link.process, wait.other, {}, link);
      }
      case For::engine:
        return wait.message.edge < 0 ? task_of(link.process, wait.other, {}, link)
                                     : taker_of(wait, link);
      case For::room:
      case For::turn:
        if (wait.other.lane >= 0) return task_of(link.process, wait.other, {}, link);
        return undecided(link);
      case For::hold:
        return undecided(link);
      case For::agreement: {
        const int other = agreeing(link);
        return exists(other) ? any_of(other, {}) : starts(link);
      }
      case For::slot:
      case For::grant:
      case For::end:
        return taker_of(wait, link);
      case For::gather:
        return exists(wait.on) ? any_of(wait.on, {}) : starts(link);
    }
    return {};
  }

  // The process decides alone, but its other waits may be why it does not start the task.
  Nodes undecided(const Blame::Link& link) {
    Nodes found = starts(link);
    const Nodes others = waits_of(link.process, [&](const Wait& w) {
      return w.task != link.wait.task && w.reason != For::hold &&
             (w.reason != For::turn || w.other.lane >= 0);
    });
    found.insert(found.end(), others.begin(), others.end());
    return found;
  }

  // Nodes that keep `process` from ending its `task` and from sending its message, if it has one.
  Nodes task_of(int process, Task task, Message message, const Blame::Link& link) {
    if (!exists(process)) return starts(link);
    if (!is_well(index(process))) return standing(process);
    if (is_behind(process, link.process)) return any_of(process, task);
    Nodes found = runs(process, [&](Task t) { return t == task; });
    if (!found.empty()) return found;
    found = waits_of(process, [&](const Wait& w) {
      return w.is_of_message() ? w.message == message : w.task == task;
    });
    if (!found.empty()) return found;
    // The task comes after its lane's next task, and the process reports only on the next one.
    found = runs(process,
                 [&](Task t) { return t.lane == task.lane && t.microbatch < task.microbatch; });
    if (!found.empty()) return found;
    found = waits_of(process, [&](const Wait& w) {
      return !w.is_of_message() && w.task.lane == task.lane && w.task.microbatch < task.microbatch;
    });
    return found.empty() ? sink({process, Why::owes, task}) : found;
  }

  // Nodes that keep the owner from taking the message, or another message out of the same inbox.
  Nodes taker_of(const Wait& wait, const Blame::Link& link) {
    const int process = owner(link);
    if (!exists(process)) return starts(link);
    if (!is_well(index(process))) return standing(process);
    if (is_behind(process, link.process)) return any_of(process, wait.other);
    Nodes found = waits_of(process, [&](const Wait& w) {
      return w.reason == For::need && w.message == wait.message && w.on == wait.on;
    });
    if (!found.empty()) return found;
    const auto takes = [&](LaneId lane) {
      const EdgeFacts& of = facts_.edges[index(wait.message.edge)];
      return std::any_of(facts_.edges.begin(), facts_.edges.end(), [&](const EdgeFacts& e) {
        return e.consumer == lane &&
               (of.inbox >= 0 ? e.inbox == of.inbox : e.consumer == of.consumer);
      });
    };
    found = runs(process, [&](Task t) { return takes(t.lane); });
    if (!found.empty()) return found;
    found = waits_of(process, [&](const Wait& w) {
      return !w.is_of_message() && w.task.lane >= 0 && takes(w.task.lane);
    });
    return found.empty() ? any_of(process, wait.other) : found;
  }

  // The tasks that the process runs, else all its waits; if there are none, it owes `missing`.
  Nodes any_of(int process, Task missing) {
    if (!is_well(index(process))) return standing(process);
    Nodes found = runs(process, [](Task) { return true; });
    if (!found.empty()) return found;
    found = waits_of(process, [](const Wait&) { return true; });
    return found.empty() ? sink({process, Why::owes, missing}) : found;
  }

  // ------------------------------------------------------------- who is to blame

  Way way_to(std::size_t sink) const {
    Way way;
    way.steps.assign(links_.size() + sinks_.size(), kFar);
    std::deque<std::size_t> front{links_.size() + sink};
    way.steps[front.front()] = 0;
    std::set<int> waiting;
    while (!front.empty()) {
      const std::size_t node = front.front();
      front.pop_front();
      if (node < links_.size()) waiting.insert(links_[node].process);
      for (const std::size_t before : before_[node]) {
        if (way.steps[before] != kFar) continue;
        way.steps[before] = way.steps[node] + 1;
        front.push_back(before);
      }
    }
    way.processes = static_cast<std::int64_t>(waiting.size());
    return way;
  }

  // Whether `a` is blamed before `b`, in the order that core/wait_graph.h states.
  static bool comes_first(const Sink& a, const Way& to_a, const Sink& b, const Way& to_b) {
    const auto key = [](const Sink& s, const Way& way) {
      const bool well = s.why > Why::silent;
      return std::tuple(well ? Why::runs : s.why, well ? Time{0} : s.since, -way.processes, s.why,
                        s.since, s.key());
    };
    return key(a, to_a) < key(b, to_b);
  }

  Blame of_sink(const Sink& sink, const Way& way, int from) const {
    Blame blame;
    blame.why = sink.why;
    blame.processes = {sink.process};
    blame.task = sink.task;
    blame.since = sink.since;
    blame.step = states_[index(sink.process)].waits.step;
    if (!is_well(index(sink.process))) blame.detail = states_[index(sink.process)].detail;
    const auto nearest = [&](int process) {
      std::size_t best = links_.size();
      for (std::size_t i = 0; i < links_.size(); ++i) {
        if (process >= 0 && links_[i].process != process) continue;
        if (way.steps[i] != kFar && (best == links_.size() || way.steps[i] < way.steps[best])) {
          best = i;
        }
      }
      return best;
    };
    std::size_t node = nearest(from);
    if (node == links_.size()) node = nearest(-1);
    while (node < links_.size()) {
      blame.chain.push_back(links_[node]);
      node = *std::min_element(
          next_[node].begin(), next_[node].end(),
          [&](std::size_t a, std::size_t b) { return way.steps[a] < way.steps[b]; });
    }
    return blame;
  }

  // The shortest circle; empty if no process waits.
  Blame circle() const {
    Nodes best;
    for (std::size_t i = 0; i < links_.size() && best.size() != 1; ++i) {
      const auto arcs = [this](std::size_t node, const auto& visit) {
        for (const std::size_t next : next_[node]) visit(next, 0);
      };
      const auto found =
          shortest_cycle<std::size_t, int>(i, arcs, best.empty() ? links_.size() : best.size() - 1);
      if (found.empty()) continue;
      best.clear();
      for (const auto& step : found) best.push_back(step.node);
    }
    Blame blame;
    if (best.empty()) return blame;
    blame.why = Why::circle;
    for (const std::size_t node : best) {
      const Blame::Link& link = links_[node];
      blame.chain.push_back(link);
      if (std::find(blame.processes.begin(), blame.processes.end(), link.process) ==
          blame.processes.end()) {
        blame.processes.push_back(link.process);
      }
    }
    return blame;
  }

  const ProgramFacts& facts_;
  const Layout& layout_;
  std::span<const RankState> states_;
  std::vector<std::size_t> first_;  // per process, and one past the last: its first wait
  std::vector<Blame::Link> links_;
  std::vector<Nodes> next_;    // per wait
  std::vector<Nodes> before_;  // per wait and sink: the waits that lead to it
  std::vector<Sink> sinks_;
  std::map<std::tuple<int, Why, LaneId, std::int32_t>, std::size_t> known_;
};

std::string seconds(Time time) {
  const std::int64_t tenths = std::max<std::int64_t>(0, time.count() / 100'000'000);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string headline(const ProgramFacts& facts, const Layout& layout, const Blame& blame,
                     Time now) {
  if (blame.why == Why::nobody) return "no rank waits for another";
  const std::string rank = layout.name(blame.processes.front());
  const std::string detail = blame.detail.empty() ? "" : " (" + blame.detail + ")";
  switch (blame.why) {
    case Why::failed:
      if (blame.detail.starts_with(rank + " ")) return blame.detail;
      return rank + " failed" + (blame.detail.empty() ? "" : ": " + blame.detail);
    case Why::lost:
      return rank + " was lost" + detail;
    case Why::silent:
      return rank + " has been silent for " + seconds(now - blame.since) + detail;
    case Why::runs:
      return rank + " has been running " + task_name(facts, blame.task) + " for " +
             seconds(now - blame.since);
    case Why::owes:
      return rank + " " +
             (blame.task.lane < 0 ? "is waited for" : "owes " + task_name(facts, blame.task)) +
             " and does not say what keeps it; it is in step " + std::to_string(blame.step);
    case Why::starts:
      return rank + " does not " +
             (blame.task.lane < 0 ? "go on" : "start " + task_name(facts, blame.task)) +
             ", and no other rank owes it anything";
    case Why::nobody:
    case Why::circle:
      break;
  }
  if (blame.processes.size() == 1) return rank + " waits for itself";
  std::string text = layout.is_flat() ? "ranks " : "processes ";
  for (std::size_t i = 0; i < blame.processes.size(); ++i) {
    if (i > 0) text += i + 1 == blame.processes.size() ? " and " : ", ";
    text += std::to_string(blame.processes[i]);
  }
  return text + " wait for each other";
}

}  // namespace

Blame follow_waits(const ProgramFacts& facts, const Layout& layout,
                   std::span<const RankState> processes, int from) {
  return WaitGraph(facts, layout, processes).blame(from);
}

std::string print_blame(const ProgramFacts& facts, const Layout& layout, const Blame& blame,
                        Time now) {
  std::string text = headline(facts, layout, blame, now) + "\n";
  for (const Blame::Link& link : blame.chain) {
    const Wait& wait = link.wait;
    text += layout.name(link.process) + ": ";
    text += wait.reason == For::gather ? "the gather waits for " + layout.name(wait.on)
                                       : print_wait(facts, wait);
    text += "\n";
  }
  return text;
}

}  // namespace ripeline::core
