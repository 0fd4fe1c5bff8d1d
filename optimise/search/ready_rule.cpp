// The external interface is run() and RandomRules. A run visits the decisions of all machines in
// the order of their times.
#include "optimise/search/ready_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "optimise/uniform.h"

namespace ripeline::optimise {
namespace {

class ReadyRun {
 public:
  ReadyRun(const Model& model, const Rows& base, const ReadyRule& rule)
      : model_(model),
        rule_(rule),
        rows_(model.machines.size()),
        next_(model.lanes.size(), 0),
        place_(model.takes.size(), 0),
        first_(model.machines.size(), 0),
        arrival_(model.takes.size(), 0),
        missing_(model.takes.size(), 0),
        held_(model.pools.size(), 0),
        wakes_(model.machines.size(), 0),
        waits_(model.machines.size(), 0) {
    for (int task = 0; task < model.tasks(); ++task) {
      at(missing_, task) = static_cast<int>(model.needs_of(task).size());
    }
    for (int l = 0; l < size_of(model.lanes); ++l) fills_.push_back(is_fill(l));
    for (const std::vector<int>& row : base) {
      std::vector<int>& tasks = tasks_.emplace_back();
      for (const int l : row) {
        const int task = at(model.lanes, l).first + at(next_, l)++;
        at(place_, task) = size_of(tasks);
        tasks.push_back(task);
      }
    }
    next_.assign(model.lanes.size(), 0);
  }

  std::optional<Rows> run() {
    int left = model_.tasks();
    while (true) {
      const auto next = std::min_element(wakes_.begin(), wakes_.end());
      if (next == wakes_.end() || *next == kNever) break;
      if (decide(static_cast<int>(next - wakes_.begin()), *next)) --left;
    }
    return left == 0 ? std::optional(std::move(rows_)) : std::nullopt;
  }

 private:
  // Whether the lane fills gaps: no task of another machine waits for its tasks, and its tasks wait
  // for a task of their own machine.
  [[nodiscard]] bool is_fill(int l) const {
    const Model::Lane& lane = at(model_.lanes, l);
    return lane.tasks > 0 && model_.feeds_of(lane.first).empty() &&
           !model_.after(lane.first).empty();
  }

  // Decides what machine m does at `now`; returns whether a task starts.
  bool decide(int m, Time now) {
    const Model::Machine& machine = at(model_.machines, m);
    int best = -1;
    int fill = -1;
    Time soon = kNever;  // the next arrival, except for fills
    bool blocked = false;
    for (const int l : machine.lanes) {
      const Model::Lane& lane = at(model_.lanes, l);
      if (at(next_, l) == lane.tasks) continue;
      const int task = lane.first + at(next_, l);
      if (!is_ready(task)) continue;
      if (at(arrival_, task) > now) {
        if (!fills_[static_cast<std::size_t>(l)]) soon = std::min(soon, at(arrival_, task));
        continue;
      }
      if (!has_room(m, l)) {
        blocked = true;
        continue;
      }
      int& kind = fills_[static_cast<std::size_t>(l)] ? fill : best;
      if (kind < 0 || precedes(l, kind)) kind = l;
    }
    if (best < 0 && fill >= 0 && (blocked || soon == kNever || soon - now >= rule_.look_ahead)) {
      best = fill;
    }
    if (best < 0) {
      at(waits_, m) = 1;
      at(wakes_, m) = soon;
      return false;
    }
    start(m, best, now);
    return true;
  }

  [[nodiscard]] bool is_ready(int task) const {
    if (at(missing_, task) > 0) return false;
    const auto near = model_.after(task);
    return std::all_of(near.begin(), near.end(), [&](int other) { return has_started(other); });
  }

  [[nodiscard]] bool precedes(int l, int other) const {
    const auto when = [&](int lane) {
      return at(rule_.wanted, lane) + rule_.period * at(next_, lane);
    };
    return std::tuple(when(l), at(next_, l), l) < std::tuple(when(other), at(next_, other), other);
  }

  [[nodiscard]] bool has_room(int m, int l) {
    const Model::Machine& machine = at(model_.machines, m);
    bool acquires = false;
    for (const int p : machine.pools) {
      const Model::Pool& pool = at(model_.pools, p);
      const Model::Use& use = at(pool.uses, l);
      if (use.acquires == 0) continue;
      acquires = true;
      const auto limit = static_cast<std::int64_t>(
          std::ceil(at(rule_.share, l) * static_cast<double>(pool.capacity)));
      const std::int64_t held = at(held_, p);
      if (held + use.asks > pool.capacity) return false;
      if (held + use.acquires > limit && at(place_, next_task(l)) > at(first_, m)) return false;
    }
    return !acquires || keeps_room(m, l);
  }

  // Whether the earlier tasks of the base would still find room; see core/kept_order.h.
  [[nodiscard]] bool keeps_room(int m, int l) const {
    const int own = at(place_, next_task(l));
    for (const int p : at(model_.machines, m).pools) {
      const Model::Pool& pool = at(model_.pools, p);
      const Model::Use& use = at(pool.uses, l);
      std::int64_t held = at(held_, p) + use.acquires - use.releases;
      for (int place = at(first_, m); place < own; ++place) {
        const int before = at(at(tasks_, m), place);
        if (has_started(before)) continue;
        const Model::Use& of_before = at(pool.uses, at(model_.lane_of, before));
        if (of_before.acquires > 0 && held + of_before.asks > pool.capacity) return false;
        held += of_before.acquires - of_before.releases;
      }
    }
    return true;
  }

  [[nodiscard]] int next_task(int l) const { return at(model_.lanes, l).first + at(next_, l); }
  [[nodiscard]] bool has_started(int task) const {
    return task < next_task(at(model_.lane_of, task));
  }

  void start(int m, int l, Time now) {
    const int task = at(model_.lanes, l).first + at(next_, l)++;
    const Time end = now + at(model_.takes, task);
    for (const int p : at(model_.machines, m).pools) {
      const Model::Use& use = at(at(model_.pools, p).uses, l);
      at(held_, p) += use.acquires - use.releases;  // freed before the machine's next decision
    }
    at(rows_, m).push_back(l);
    const std::vector<int>& listed = at(tasks_, m);
    int& first = at(first_, m);
    while (first < size_of(listed) && has_started(at(listed, first))) ++first;
    at(waits_, m) = 0;
    at(wakes_, m) = end;
    for (const Model::Arc& arc : model_.feeds_of(task)) {
      Time& arrival = at(arrival_, arc.task);
      arrival = std::max(arrival, end + arc.lag);
      if (--at(missing_, arc.task) > 0) continue;
      const int other = at(model_.lanes, at(model_.lane_of, arc.task)).machine;
      if (at(waits_, other) != 0) at(wakes_, other) = std::min(at(wakes_, other), arrival);
    }
  }

  const Model& model_;
  const ReadyRule& rule_;
  Rows rows_;
  std::vector<bool> fills_;              // per lane
  std::vector<int> next_;                // per lane
  std::vector<std::vector<int>> tasks_;  // per machine: the tasks of the base
  std::vector<int> place_;               // per task: its place in the base
  std::vector<int> first_;          // per machine: the first place of the base that has not started
  std::vector<Time> arrival_;       // per task: the latest arrival of its needs so far
  std::vector<int> missing_;        // per task: its needs on other machines that have not started
  std::vector<std::int64_t> held_;  // per pool
  std::vector<Time> wakes_;         // per machine: when it decides next
  std::vector<char> waits_;         // per machine: whether it waits for an arrival
};

// Per lane, the number of its class. All lanes of a class share one preference.
std::vector<int> classes_of(const spec::Program& program, const Model& model, bool by_chunk) {
  std::map<std::pair<int, int>, int> numbers;
  std::vector<int> classes;
  for (const spec::Lane& lane : program.lanes) {
    const std::pair key(lane.op, by_chunk ? lane.chunk : 0);
    classes.push_back(numbers.emplace(key, static_cast<int>(numbers.size())).first->second);
  }
  classes.resize(model.lanes.size(), 0);
  return classes;
}

}  // namespace

std::optional<Rows> run(const Model& model, const Rows& base, const ReadyRule& rule) {
  return ReadyRun(model, base, rule).run();
}

RandomRules::RandomRules(const spec::Program& program, const Model& model, std::uint64_t seed)
    : program_(program), model_(model), random_(seed) {
  Time sum = 0;
  for (const Time takes : model.takes) sum += takes;
  if (!model.takes.empty()) mean_ = std::max<Time>(1, sum / model.tasks());
  for (const Model::Machine& machine : model.machines) {
    Time cycle = 0;
    for (const int l : machine.lanes) {
      const Model::Lane& lane = at(model.lanes, l);
      if (lane.tasks > 0) cycle += at(model.takes, lane.first);
    }
    cycle_ = std::max(cycle_, cycle);
  }
}

double RandomRules::pick(std::initializer_list<double> values) {
  return values.begin()[random_.draw(values.size())];
}

ReadyRule RandomRules::next() {
  ReadyRule rule;
  if (!std::exchange(has_begun_, true)) {
    for (const Model::Lane& lane : model_.lanes) {
      rule.wanted.push_back(lane.tasks > 0 ? -static_cast<double>(at(model_.heads, lane.first))
                                           : 0);
    }
    rule.share.assign(model_.lanes.size(), 1);
    rule.look_ahead = mean_;
    return rule;
  }
  const std::vector<int> classes = classes_of(program_, model_, random_.draw(2) == 0);
  const auto mean = static_cast<double>(mean_);
  if (random_.draw(2) == 0) {
    std::vector<int> order(classes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random_.draw(i)]);
    }
    for (const int c : classes) rule.wanted.push_back(at(order, c));
  } else {
    std::vector<std::pair<double, double>> of_class;  // a factor of the head, and a delay
    for (std::size_t i = 0; i < classes.size(); ++i) {
      of_class.emplace_back(pick({.5, .75, 1, 1, 1.5, 2, 3}),
                            mean * (static_cast<double>(random_.draw(13)) - 4));
    }
    for (int l = 0; l < size_of(classes); ++l) {
      const Model::Lane& lane = at(model_.lanes, l);
      const auto& [stretch, delay] = at(of_class, at(classes, l));
      const Time head = lane.tasks > 0 ? at(model_.heads, lane.first) : 0;
      rule.wanted.push_back(stretch * static_cast<double>(head) + delay);
    }
    rule.period = static_cast<double>(cycle_) * pick({.5, .75, 1, 1, 1.25, 1.5, 2});
  }
  // A lane's share of the capacity varies evenly from the first rank to the last. Half of the rules
  // use this share for a rank's first stage only, and all capacity for its last stage.
  const double last = static_cast<double>(random_.draw(5)) / 4;
  const double first = static_cast<double>(random_.draw(5)) / 4;
  const bool is_alike = random_.draw(2) == 0;
  for (int l = 0; l < size_of(model_.lanes); ++l) {
    const int rank = std::max(0, at(model_.machines, at(model_.lanes, l).machine).rank);
    const double place = program_.ranks < 2 ? 0 : rank / static_cast<double>(program_.ranks - 1);
    const double share = std::max(first, last) * (1 - place) + last * place;
    const bool is_of_program = l < size_of(program_.lanes);
    const int chunk = is_of_program ? at(program_.lanes, l).chunk : 0;
    const int chunks = is_of_program ? program_.chunks(rank) : 1;
    rule.share.push_back(is_alike || chunks < 2 ? share
                                                : share + (1 - share) * chunk / (chunks - 1));
  }
  rule.look_ahead = mean_ * static_cast<Time>(random_.draw(4)) / 2;
  return rule;
}

}  // namespace ripeline::optimise
