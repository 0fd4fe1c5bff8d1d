#include "optimise/solver/order_model.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "optimise/solver/rooms.h"

namespace ripeline::optimise {
namespace {

class Writer {
 public:
  Writer(const Model& model, const OrderGraph& graph, const OrderGoal& goal)
      : model_(model),
        graph_(graph),
        objective_(goal.entry < 0 ? goal.objective : Objective::makespan),
        entry_(goal.entry),
        least_(goal.least) {}

  OrderModel write() {
    draft_.is_hinted = !graph_.starts().empty();
    read_hint();
    draft_.horizon = horizon();
    add_starts();
    for (const OrderGraph::Arc& arc : graph_.arcs()) {
      if (variable(arc.before) < 0 || variable(arc.after) < 0) continue;
      draft_.model.add_after(variable(arc.after), variable(arc.before),
                             graph_.takes(arc.before) + arc.lag);
    }
    add_machines();
    add_rooms(model_, graph_, draft_);
    if (entry_ >= 0) {
      draft_.model.objective = variable(entry_);
    } else if (objective_ == Objective::makespan) {
      add_makespan();
    } else {
      add_span();
    }
    return {std::move(draft_.model), std::move(draft_.variable_of)};
  }

 private:
  [[nodiscard]] int variable(int task) const { return at(draft_.variable_of, task); }
  [[nodiscard]] int rank_of(const Model::Lane& lane) const {
    return at(model_.machines, lane.machine).rank;
  }
  [[nodiscard]] int rank_of_task(int task) const {
    return rank_of(at(model_.lanes, at(model_.lane_of, task)));
  }
  [[nodiscard]] bool has_tasks(int rank) const {
    return std::any_of(model_.lanes.begin(), model_.lanes.end(), [&](const Model::Lane& lane) {
      return rank_of(lane) == rank && lane.tasks > 0;
    });
  }
  [[nodiscard]] static int last_of(const Model::Lane& lane) { return lane.first + lane.tasks - 1; }

  void read_hint() {
    begin_.assign(model_.begin_of.size(), CpModel::kNoLimit);
    if (!draft_.is_hinted) return;
    std::vector<Time> end(begin_.size(), 0);
    for (int task = 0; task < graph_.tasks(); ++task) {
      const Time start = at(graph_.starts(), task);
      makespan_ = std::max(makespan_, start + graph_.takes(task));
      const int rank = rank_of_task(task);
      if (rank < 0) continue;
      at(begin_, rank) = std::min(at(begin_, rank), start);
      at(end, rank) = std::max(at(end, rank), start + graph_.takes(task));
    }
    for (std::size_t r = 0; r < end.size(); ++r) {
      if (end[r] > begin_[r]) span_ = std::max(span_, end[r] - begin_[r]);
    }
  }

  // A time by which at least one of the best orders has ended.
  [[nodiscard]] Time horizon() const {
    Time sum = 0;
    Time lag = 0;
    std::vector<Time> longest(model_.takes.size(), 0);
    for (const OrderGraph::Arc& arc : graph_.arcs()) {
      Time& most = at(longest, arc.after);
      most = std::max(most, arc.lag);
      lag = std::max(lag, arc.lag);
    }
    for (int task = 0; task < graph_.tasks(); ++task) sum += graph_.takes(task) + at(longest, task);
    // An order in which the entry starts as early as possible may end late.
    if (entry_ >= 0) return std::max(sum, least_);
    if (objective_ == Objective::makespan) {
      // Equal costs are solved tens of times faster if this is 1.5 times the hint's makespan.
      return std::max(draft_.is_hinted ? makespan_ + makespan_ / 2 : sum, least_);
    }
    const Time span = std::max(draft_.is_hinted ? span_ : sum, least_);
    if (has_leader()) return std::max(makespan_, 2 * span);
    // If for longer than a lag no rank is between its first start and its last end, all later tasks
    // can be moved earlier to shorten this gap. Tasks that only join needs take no time.
    return std::max(makespan_, static_cast<Time>(model_.machines.size()) * (span + lag));
  }

  // Whether the rank with the least head is a leader: all tasks of other ranks need it, and it
  // needs a task of each of these ranks. Then each rank starts between the leader's start and end.
  [[nodiscard]] bool has_leader() const {
    const auto leader = static_cast<int>(
        std::min_element(model_.begin_of.begin(), model_.begin_of.end()) - model_.begin_of.begin());
    std::vector<bool> after(model_.takes.size(), false);
    for (int task = 0; task < graph_.tasks(); ++task) {
      after[static_cast<std::size_t>(task)] = rank_of_task(task) == leader;
    }
    std::vector<bool> before = after;
    const auto spread = [](std::vector<bool>& marks, int from, int to) {
      if (marks[static_cast<std::size_t>(from)]) marks[static_cast<std::size_t>(to)] = true;
    };
    for (const OrderGraph::Arc& arc : graph_.arcs()) spread(after, arc.before, arc.after);
    for (auto arc = graph_.arcs().rbegin(); arc != graph_.arcs().rend(); ++arc) {
      spread(before, arc->after, arc->before);
    }
    std::vector<bool> needed(model_.begin_of.size(), false);
    for (int task = 0; task < graph_.tasks(); ++task) {
      if (!after[static_cast<std::size_t>(task)]) return false;
      const int rank = rank_of_task(task);
      if (rank >= 0 && before[static_cast<std::size_t>(task)]) {
        needed[static_cast<std::size_t>(rank)] = true;
      }
    }
    for (int rank = 0; rank < size_of(model_.begin_of); ++rank) {
      if (has_tasks(rank) && !needed[static_cast<std::size_t>(rank)]) return false;
    }
    return true;
  }

  // If the span is minimised, tasks after the free tasks also get variables, since they end spans.
  void add_starts() {
    const std::vector<bool> after_entry = tasks_after_entry();
    for (int task = 0; task < graph_.tasks(); ++task) {
      const bool is_in = graph_.is_after_free(task) &&
                         (objective_ == Objective::span || graph_.is_before_free(task)) &&
                         !after_entry[static_cast<std::size_t>(task)];
      const Time most = draft_.horizon - graph_.takes(task) - graph_.tail(task);
      draft_.variable_of.push_back(
          is_in ? draft_.add({graph_.head(task), most},
                             draft_.is_hinted ? at(graph_.starts(), task) : 0)
                : -1);
    }
  }

  // The tasks that get no variable because they need the entry. None if several lanes share a pool,
  // since the start of the entry then depends on later tasks of its own microbatch.
  [[nodiscard]] std::vector<bool> tasks_after_entry() const {
    std::vector<bool> after(model_.takes.size(), false);
    const bool shares =
        std::any_of(model_.pools.begin(), model_.pools.end(), [](const Model::Pool& pool) {
          return std::count_if(pool.uses.begin(), pool.uses.end(),
                               [](const Model::Use& use) { return use.acquires > 0; }) > 1;
        });
    if (entry_ < 0 || shares) return after;
    for (const OrderGraph::Arc& arc : graph_.arcs()) {
      if (arc.before == entry_ || after[static_cast<std::size_t>(arc.before)]) {
        after[static_cast<std::size_t>(arc.after)] = true;
      }
    }
    return after;
  }

  void add_machines() {
    for (const OrderGraph::Block& block : graph_.blocks()) {
      const int lane = at(model_.lane_of, block.tasks.front());
      const bool one_lane = std::all_of(block.tasks.begin(), block.tasks.end(),
                                        [&](int task) { return at(model_.lane_of, task) == lane; });
      if (one_lane) continue;  // a lane's tasks run in turn anyway
      std::vector<int> intervals;
      for (const int task : block.tasks) {
        if (variable(task) < 0) continue;
        const Time takes = graph_.takes(task);
        intervals.push_back(draft_.model.add(
            CpModel::Interval{{variable(task)}, {.offset = takes}, {variable(task), 1, takes}}));
      }
      draft_.model.no_overlaps.push_back(std::move(intervals));
    }
  }

  void add_makespan() {
    Time least = least_;
    std::vector<Time> after(model_.takes.size(), -1);  // path to the end over tasks left out, or -1
    for (int task = 0; task < graph_.tasks(); ++task) {
      least = std::max(least, graph_.head(task) + graph_.takes(task) + graph_.tail(task));
    }
    for (const Model::Lane& lane : model_.lanes) {
      if (lane.tasks > 0) at(after, last_of(lane)) = 0;
    }
    for (const OrderGraph::Arc& arc : graph_.arcs()) {
      if (variable(arc.after) >= 0) continue;
      Time& path = at(after, arc.before);
      path = std::max(path, arc.lag + graph_.takes(arc.after) + graph_.tail(arc.after));
    }
    const int makespan =
        draft_.add({least, std::max(draft_.horizon, least)}, std::max(makespan_, least));
    for (int task = 0; task < graph_.tasks(); ++task) {
      if (variable(task) < 0 || at(after, task) < 0) continue;
      draft_.model.add_after(makespan, variable(task), graph_.takes(task) + at(after, task));
    }
    draft_.model.objective = makespan;
  }

  void add_span() {
    const Time most = std::max(draft_.is_hinted ? span_ : draft_.horizon, least_);
    const int span = draft_.add({least_, most}, std::max(span_, least_));
    for (int rank = 0; rank < size_of(model_.begin_of); ++rank) {
      if (!has_tasks(rank)) continue;
      const int begin = begin_variable(rank);
      for (const Model::Lane& lane : model_.lanes) {
        if (rank_of(lane) != rank || lane.tasks == 0) continue;
        const int task = last_of(lane);
        if (variable(task) < 0) {
          draft_.model.linears.push_back(
              {{{span, 1}, {begin, 1}}, graph_.head(task) + graph_.takes(task)});
        } else {
          draft_.model.linears.push_back(
              {{{span, 1}, {begin, 1}, {variable(task), -1}}, graph_.takes(task)});
        }
      }
    }
    draft_.model.objective = span;
  }

  // Returns a variable that is at most the rank's first start.
  int begin_variable(int rank) {
    std::vector<int> firsts;
    for (const Model::Lane& lane : model_.lanes) {
      if (rank_of(lane) == rank && lane.tasks > 0) firsts.push_back(lane.first);
    }
    std::vector<int> kept;
    for (const int task : firsts) {
      const bool is_later = std::any_of(firsts.begin(), firsts.end(), [&](int other) {
        return other != task && needs_between(model_, other, task);
      });
      if (!is_later) kept.push_back(task);
    }
    if (kept.size() == 1 && variable(kept.front()) >= 0) return variable(kept.front());
    Time most = draft_.horizon;
    for (const int task : kept) {
      if (variable(task) < 0) most = std::min(most, graph_.head(task));
    }
    const int begin = draft_.add({0, most}, draft_.is_hinted ? at(begin_, rank) : 0);
    for (const int task : kept) {
      if (variable(task) >= 0) draft_.model.add_after(variable(task), begin, 0);
    }
    return begin;
  }

  const Model& model_;
  const OrderGraph& graph_;
  Objective objective_;
  int entry_;
  Time least_;
  CpDraft draft_;
  // Times in the hint: the makespan, the span, and each rank's first start.
  Time makespan_ = 0;
  Time span_ = 0;
  std::vector<Time> begin_;
};

}  // namespace

OrderModel order_model(const Model& model, const OrderGraph& graph, const OrderGoal& goal) {
  return Writer(model, graph, goal).write();
}

Rows rows_of(const Model& model, const OrderGraph& graph, const OrderModel& made,
             const std::vector<CpModel::Value>& values) {
  Rows rows = graph.task_rows();
  if (rows.empty()) {
    rows.resize(model.machines.size());
    for (const OrderGraph::Block& block : graph.blocks()) at(rows, block.machine) = block.tasks;
  }
  for (const OrderGraph::Block& block : graph.blocks()) {
    std::vector<std::tuple<Time, Time, int, int>> sorted;
    for (const int task : block.tasks) {
      const Time start = at(values, at(made.variable_of, task));
      sorted.emplace_back(start, start + graph.takes(task), graph.rank_of(task), task);
    }
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < size_of(sorted); ++i) {
      at(at(rows, block.machine), block.first_position + i) = std::get<3>(at(sorted, i));
    }
  }
  for (std::vector<int>& row : rows) {
    for (int& task : row) task = at(model.lane_of, task);
  }
  return rows;
}

}  // namespace ripeline::optimise
