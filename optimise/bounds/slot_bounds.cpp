#include "optimise/bounds/slot_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "optimise/uniform.h"

namespace ripeline::optimise {
namespace {

using spec::Program;
using Time = TaskGraph::Time;

}  // namespace

SlotBounds::SlotBounds(const Program& program, const TaskGraph& graph,
                       const simulate::Timing& timing)
    : program_(program), graph_(graph) {
  for (int pool = 0; pool < size_of(program.pools); ++pool) add(pool, timing);
}

Time SlotBounds::least_takes(int lane) const {
  Time least = kNever;
  for (int node = graph_.first_node(lane); node < graph_.first_node(lane + 1); ++node) {
    least = std::min(least, graph_.takes(node));
  }
  return least == kNever ? 0 : least;
}

// Per lane, the longest path from the start of a task of `from` to the end of the lane's task with
// the same number, through tasks with that number; kNone if there is no such path.
std::vector<Time> SlotBounds::paths_from(int from, const simulate::Timing& timing) const {
  const spec::Lane& own = at(program_.lanes, from);
  std::vector<Time> paths(program_.lanes.size(), TaskGraph::kNone);
  std::vector<std::uint8_t> known(program_.lanes.size(), 0);
  at(paths, from) = least_takes(from);
  at(known, from) = 1;
  const auto follow = [&](const auto& self, int lane) -> Time {
    if (std::exchange(at(known, lane), std::uint8_t{1}) != 0) return at(paths, lane);
    const spec::Lane& l = at(program_.lanes, lane);
    if (l.share != own.share || l.once != own.once) return TaskGraph::kNone;
    Time longest = TaskGraph::kNone;
    for (const int edge : l.edges) {
      const spec::Edge& e = at(program_.edges, edge);
      if (e.of != spec::Of::same) continue;
      const Time before = self(self, e.producer);
      if (before == TaskGraph::kNone) continue;
      const core::Message message{edge, 0};
      const Time lag = program_.crosses_ranks(e)
                           ? (timing.transfer(message) + timing.latency(message)).count()
                           : 0;
      longest = std::max(longest, before + lag);
    }
    if (longest != TaskGraph::kNone) at(paths, lane) = longest + least_takes(lane);
    return at(paths, lane);
  };
  for (int lane = 0; lane < size_of(program_.lanes); ++lane) follow(follow, lane);
  return paths;
}

void SlotBounds::add(int id, const simulate::Timing& timing) {
  const spec::Pool& of_program = at(program_.pools, id);
  if (!of_program.capacity) return;
  Pool pool{
      .pool = id, .capacity = *of_program.capacity, .acquiring = {}, .releasing = {}, .stays = {}};
  const int first = program_.first_lane(of_program.rank);
  const int end = program_.first_lane(of_program.rank + 1);
  std::vector<std::int64_t> released(program_.lanes.size(), 0);
  for (int lane = first; lane < end; ++lane) {
    for (const spec::Use& use : spec::uses_of(at(program_.lanes, lane))) {
      if (use.pool != id) continue;
      if (use.acquires > 0) pool.acquiring.push_back(lane);
      if (use.releases > 0) pool.releasing.push_back(lane);
      at(released, lane) = use.releases;
    }
  }
  for (const int lane : pool.acquiring) {
    // If several lanes of a stage acquire, it is unknown whose amount a release frees.
    const int stage = at(program_.lanes, lane).stage;
    const auto of_stage = [&](int other) { return at(program_.lanes, other).stage == stage; };
    if (std::count_if(pool.acquiring.begin(), pool.acquiring.end(), of_stage) > 1) return;
    const std::vector<Time> paths = paths_from(lane, timing);
    std::vector<Stay>& stays = pool.stays.emplace_back();
    for (const int other : pool.releasing) {
      if (!of_stage(other) || at(paths, other) == TaskGraph::kNone) continue;
      stays.push_back({at(released, other), at(paths, other)});
    }
    std::sort(stays.begin(), stays.end(),
              [](const Stay& a, const Stay& b) { return a.time < b.time; });
  }
  if (!pool.acquiring.empty()) pools_.push_back(std::move(pool));
}

void SlotBounds::find(const std::vector<Time>& heads, const std::vector<Time>& tails,
                      const Consider& consider) const {
  for (const Pool& pool : pools_) {
    const auto counts = [&](int lane) {
      for (int node = graph_.first_node(lane); node < graph_.first_node(lane + 1); ++node) {
        if (at(heads, node) == TaskGraph::kNone || at(tails, node) == TaskGraph::kNone)
          return false;
      }
      return true;
    };
    if (!std::all_of(pool.acquiring.begin(), pool.acquiring.end(), counts)) continue;
    if (!std::all_of(pool.releasing.begin(), pool.releasing.end(), counts)) continue;
    const auto consider_of = [&](Time value, Formula formula) {
      const std::string name = program_.pool_name(pool.pool);
      consider({value,
                fmt::format("{} of rank {} by {}", name_of(formula),
                            at(program_.pools, pool.pool).rank, name),
                formula, name});
    };
    if (pool.acquiring.size() == 1) consider_of(cycle(pool, heads, tails), Formula::cycle);
    consider_of(room(pool, heads, tails), Formula::room);
  }
}

// `starts` has the least start times of the lane's first, second, … task to start. Each task holds
// at least `held` for `stay->time` from its start.
Time SlotBounds::cycle(const Pool& pool, const std::vector<Time>& heads,
                       const std::vector<Time>& tails) const {
  const int lane = pool.acquiring.front();
  const int first = graph_.first_node(lane);
  const int tasks = graph_.first_node(lane + 1) - first;
  if (tasks == 0) return 0;
  Time head = kNever;
  Time tail = kNever;
  for (int node = first; node < first + tasks; ++node) {
    head = std::min(head, at(heads, node));
    tail = std::min(tail, graph_.takes(node) + at(tails, node));
  }
  const Time takes = least_takes(lane);
  std::vector<Time> starts;
  for (int j = 0; j < tasks; ++j) {
    Time start = j == 0 ? head : starts.back() + takes;
    std::int64_t held = 0;
    for (auto stay = pool.stays.front().rbegin(); stay != pool.stays.front().rend(); ++stay) {
      held += stay->amount;
      const std::int64_t slots = pool.capacity / held;
      if (slots > 0 && j >= slots)
        start = std::max(start, at(starts, j - static_cast<int>(slots)) + stay->time);
    }
    starts.push_back(start);
  }
  return starts.back() + tail;
}

// The capacity multiplied by the time of its use is at least the sum of all amounts times stays.
Time SlotBounds::room(const Pool& pool, const std::vector<Time>& heads,
                      const std::vector<Time>& tails) const {
  Time head = kNever;
  Time tail = kNever;
  double taken = 0;
  for (int i = 0; i < size_of(pool.acquiring); ++i) {
    const int lane = at(pool.acquiring, i);
    for (int node = graph_.first_node(lane); node < graph_.first_node(lane + 1); ++node) {
      head = std::min(head, at(heads, node));
    }
    double each = 0;
    for (const Stay& stay : at(pool.stays, i)) {
      each += static_cast<double>(stay.amount) * static_cast<double>(stay.time);
    }
    taken += each * (graph_.first_node(lane + 1) - graph_.first_node(lane));
  }
  for (const int lane : pool.releasing) {
    for (int node = graph_.first_node(lane); node < graph_.first_node(lane + 1); ++node) {
      tail = std::min(tail, at(tails, node));
    }
  }
  if (head == kNever || tail == kNever) return 0;
  constexpr double kRounding = 1 - 1e-12;
  return head + static_cast<Time>(taken / static_cast<double>(pool.capacity) * kRounding) + tail;
}

}  // namespace ripeline::optimise
