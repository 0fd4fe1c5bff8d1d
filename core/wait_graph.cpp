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

namespace ripeline::core {
namespace {

using For = Wait::For;
using Why = Blame::Why;

constexpr int kFar = std::numeric_limits<int>::max();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Where chains end.
struct Sink {
  int rank = -1;
  Why why = Why::nobody;
  Task task;
  Time since{0};
  // One of each rank and reason; of what runs, one of each task.
  [[nodiscard]] auto key() const {
    const Task of = why == Why::runs ? task : Task{};
    return std::tuple(rank, why, of.lane, of.microbatch);
  }
};

// Waits are numbered 0 .. waits - 1, by rank and then as the rank gave them; sinks follow.
class WaitGraph {
 public:
  WaitGraph(const ProgramFacts& facts, std::span<const RankState> ranks)
      : facts_(facts), ranks_(ranks) {
    first_.push_back(0);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (is_well(rank)) {
        for (const Wait& wait : ranks[rank].waits.waits) {
          if (fits(facts, wait)) links_.push_back({static_cast<int>(rank), wait});
        }
      }
      first_.push_back(links_.size());
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (!is_well(rank)) (void)standing(static_cast<int>(rank));
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
  // Of one sink: how far each wait is from it, and how many ranks wait for it.
  struct Way {
    std::vector<int> steps;
    std::int64_t ranks = 0;
  };
  using Nodes = std::vector<std::size_t>;

  [[nodiscard]] bool is_well(std::size_t rank) const {
    return ranks_[rank].is == RankState::Is::well;
  }
  // In a step before the other's: of what the other waits for it does not speak yet.
  [[nodiscard]] bool is_behind(int rank, int other) const {
    return ranks_[at(rank)].waits.step < ranks_[at(other)].waits.step;
  }
  [[nodiscard]] bool exists(int rank) const { return rank >= 0 && at(rank) < ranks_.size(); }

  // ------------------------------------------------------------- what a wait waits for

  // Numbers of sinks are theirs after the waits: known once all waits are.
  Nodes sink(Sink sink) {
    const auto [place, added] = known_.emplace(sink.key(), sinks_.size());
    if (added) sinks_.push_back(sink);
    // Of all that it owes, or might start, what comes first.
    Task& task = sinks_[place->second].task;
    const auto order = [](Task t) { return std::pair(t.microbatch, t.lane); };
    if (sink.task.lane >= 0 && (task.lane < 0 || order(sink.task) < order(task))) task = sink.task;
    return {links_.size() + place->second};
  }
  Nodes standing(int rank) {
    const RankState& state = ranks_[at(rank)];
    const Why why = state.is == RankState::Is::failed ? Why::failed
                    : state.is == RankState::Is::lost ? Why::lost
                                                      : Why::silent;
    return sink({rank, why, {}, state.since});
  }
  Nodes starts(const Blame::Link& link) { return sink({link.rank, Why::starts, link.wait.task}); }

  template <class Fits>
  Nodes waits_of(int rank, const Fits& fits) const {
    Nodes found;
    for (std::size_t i = first_[at(rank)]; i < first_[at(rank) + 1]; ++i) {
      if (fits(links_[i].wait)) found.push_back(i);
    }
    return found;
  }
  // The first task there for which `fits` holds, that runs.
  template <class Fits>
  Nodes runs(int rank, const Fits& is) {
    for (const RunningTask& running : ranks_[at(rank)].waits.running) {
      if (!fits(facts_, running.task) || !is(running.task)) continue;
      return sink({rank, Why::runs, running.task, running.since});
    }
    return {};
  }

  Nodes follow(const Blame::Link& link) {
    const Wait& wait = link.wait;
    switch (wait.reason) {
      case For::need: {
        const EdgeFacts& e = facts_.edges[at(wait.message.edge)];
        const Task producer{e.producer, wait.message.microbatch};
        if (wait.on != link.rank || !facts_.crosses_ranks(wait.message.edge)) {
          return task_of(wait.on, producer, wait.message, link);
        }
        return wait.other.lane < 0 ? starts(link) : task_of(link.rank, wait.other, {}, link);
      }
      case For::engine:
        return wait.message.edge < 0 ? task_of(link.rank, wait.other, {}, link)
                                     : taker_of(wait, link);
      case For::room:
      case For::turn:
        if (wait.other.lane >= 0) return task_of(link.rank, wait.other, {}, link);
        return undecided(link);
      case For::hold:
        return undecided(link);
      case For::agreement:
        return exists(wait.on) ? any_of(wait.on, {}) : starts(link);
      case For::slot:
      case For::grant:
      case For::end:
        return taker_of(wait, link);
      case For::gather:
        return exists(wait.on) ? any_of(wait.on, {}) : starts(link);
    }
    return {};
  }

  // The rank decides alone; by what else it waits for, perhaps.
  Nodes undecided(const Blame::Link& link) {
    Nodes found = starts(link);
    const Nodes others = waits_of(link.rank, [&](const Wait& w) {
      return w.task != link.wait.task && w.reason != For::hold &&
             (w.reason != For::turn || w.other.lane >= 0);
    });
    found.insert(found.end(), others.begin(), others.end());
    return found;
  }

  // What `rank` must do before its `task` has ended and, if there is one, its message has left.
  Nodes task_of(int rank, Task task, Message message, const Blame::Link& link) {
    if (!exists(rank)) return starts(link);
    if (!is_well(at(rank))) return standing(rank);
    if (is_behind(rank, link.rank)) return any_of(rank, task);
    Nodes found = runs(rank, [&](Task t) { return t == task; });
    if (!found.empty()) return found;
    found = waits_of(rank, [&](const Wait& w) {
      return w.is_of_message() ? w.message == message : w.task == task;
    });
    if (!found.empty()) return found;
    // Later than the lane's next, of which alone it speaks.
    found =
        runs(rank, [&](Task t) { return t.lane == task.lane && t.microbatch < task.microbatch; });
    if (!found.empty()) return found;
    found = waits_of(rank, [&](const Wait& w) {
      return !w.is_of_message() && w.task.lane == task.lane && w.task.microbatch < task.microbatch;
    });
    return found.empty() ? sink({rank, Why::owes, task}) : found;
  }

  // What rank `wait.on` must do before it takes the message, or another from the same inbox.
  Nodes taker_of(const Wait& wait, const Blame::Link& link) {
    const int rank = wait.on;
    if (!exists(rank)) return starts(link);
    if (!is_well(at(rank))) return standing(rank);
    if (is_behind(rank, link.rank)) return any_of(rank, wait.other);
    Nodes found = waits_of(rank, [&](const Wait& w) {
      return w.reason == For::need && w.message == wait.message && w.on == rank;
    });
    if (!found.empty()) return found;
    const auto takes = [&](LaneId lane) {
      const EdgeFacts& of = facts_.edges[at(wait.message.edge)];
      return std::any_of(facts_.edges.begin(), facts_.edges.end(), [&](const EdgeFacts& e) {
        return e.consumer == lane &&
               (of.inbox >= 0 ? e.inbox == of.inbox : e.consumer == of.consumer);
      });
    };
    found = runs(rank, [&](Task t) { return takes(t.lane); });
    if (!found.empty()) return found;
    found = waits_of(rank, [&](const Wait& w) {
      return !w.is_of_message() && w.task.lane >= 0 && takes(w.task.lane);
    });
    return found.empty() ? any_of(rank, wait.other) : found;
  }

  // All that the rank waits for; `missing` is what is owed if that is nothing.
  Nodes any_of(int rank, Task missing) {
    if (!is_well(at(rank))) return standing(rank);
    Nodes found = runs(rank, [](Task) { return true; });
    if (!found.empty()) return found;
    found = waits_of(rank, [](const Wait&) { return true; });
    return found.empty() ? sink({rank, Why::owes, missing}) : found;
  }

  // ------------------------------------------------------------- who is to blame

  Way way_to(std::size_t sink) const {
    Way way;
    way.steps.assign(links_.size() + sinks_.size(), kFar);
    std::deque<std::size_t> front{links_.size() + sink};
    way.steps[front.front()] = 0;
    std::set<int> ranks;
    while (!front.empty()) {
      const std::size_t node = front.front();
      front.pop_front();
      if (node < links_.size()) ranks.insert(links_[node].rank);
      for (const std::size_t before : before_[node]) {
        if (way.steps[before] != kFar) continue;
        way.steps[before] = way.steps[node] + 1;
        front.push_back(before);
      }
    }
    way.ranks = static_cast<std::int64_t>(ranks.size());
    return way;
  }

  // As wait_graph.h orders them.
  static bool comes_first(const Sink& a, const Way& to_a, const Sink& b, const Way& to_b) {
    const auto key = [](const Sink& s, const Way& way) {
      const bool well = s.why > Why::silent;
      return std::tuple(well ? Why::runs : s.why, well ? Time{0} : s.since, -way.ranks, s.why,
                        s.since, s.key());
    };
    return key(a, to_a) < key(b, to_b);
  }

  Blame of_sink(const Sink& sink, const Way& way, int from) const {
    Blame blame;
    blame.why = sink.why;
    blame.ranks = {sink.rank};
    blame.task = sink.task;
    blame.since = sink.since;
    blame.step = ranks_[at(sink.rank)].waits.step;
    if (!is_well(at(sink.rank))) blame.said = ranks_[at(sink.rank)].said;
    const auto nearest = [&](int rank) {
      std::size_t best = links_.size();
      for (std::size_t i = 0; i < links_.size(); ++i) {
        if (rank >= 0 && links_[i].rank != rank) continue;
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

  // The shortest circle; nothing if none waits.
  Blame circle() const {
    Nodes best;
    for (std::size_t i = 0; i < links_.size() && best.size() != 1; ++i) {
      Nodes found = circle_from(i, best.empty() ? links_.size() : best.size() - 1);
      if (!found.empty()) best = std::move(found);
    }
    Blame blame;
    if (best.empty()) return blame;
    blame.why = Why::circle;
    for (const std::size_t node : best) {
      const Blame::Link& link = links_[node];
      blame.chain.push_back(link);
      if (std::find(blame.ranks.begin(), blame.ranks.end(), link.rank) == blame.ranks.end()) {
        blame.ranks.push_back(link.rank);
      }
    }
    return blame;
  }

  // Of at most `most` waits.
  Nodes circle_from(std::size_t first, std::size_t most) const {
    std::map<std::size_t, std::size_t> from;
    Nodes front{first};
    for (std::size_t length = 1; length <= most && !front.empty(); ++length) {
      Nodes after;
      for (const std::size_t node : front) {
        for (const std::size_t next : next_[node]) {
          if (!from.emplace(next, node).second) continue;
          if (next != first) {
            after.push_back(next);
            continue;
          }
          Nodes circle{first};
          for (std::size_t n = node; n != first; n = from.at(n)) circle.push_back(n);
          std::reverse(circle.begin() + 1, circle.end());
          return circle;
        }
      }
      front = std::move(after);
    }
    return {};
  }

  const ProgramFacts& facts_;
  std::span<const RankState> ranks_;
  std::vector<std::size_t> first_;  // per rank, and one past the last: its first wait
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

std::string headline(const ProgramFacts& facts, const Blame& blame, Time now) {
  if (blame.why == Why::nobody) return "no rank waits for another";
  const std::string rank = "rank " + std::to_string(blame.ranks.front());
  const std::string said = blame.said.empty() ? "" : " (" + blame.said + ")";
  switch (blame.why) {
    case Why::failed:
      if (blame.said.starts_with(rank + " ")) return blame.said;
      return rank + " failed" + (blame.said.empty() ? "" : ": " + blame.said);
    case Why::lost:
      return rank + " was lost" + said;
    case Why::silent:
      return rank + " has been silent for " + seconds(now - blame.since) + said;
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
  if (blame.ranks.size() == 1) return rank + " waits for itself";
  std::string text = "ranks " + std::to_string(blame.ranks.front());
  for (std::size_t i = 1; i < blame.ranks.size(); ++i) {
    text += (i + 1 == blame.ranks.size() ? " and " : ", ") + std::to_string(blame.ranks[i]);
  }
  return text + " wait for each other";
}

}  // namespace

Blame follow_waits(const ProgramFacts& facts, std::span<const RankState> ranks, int from) {
  return WaitGraph(facts, ranks).blame(from);
}

std::string print_blame(const ProgramFacts& facts, const Blame& blame, Time now) {
  std::string text = headline(facts, blame, now) + "\n";
  for (const Blame::Link& link : blame.chain) {
    text += "rank " + std::to_string(link.rank) + ": " + print_wait(facts, link.wait) + "\n";
  }
  return text;
}

}  // namespace ripeline::core
