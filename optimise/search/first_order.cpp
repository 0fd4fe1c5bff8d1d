// The external interface is first_order(). The search keeps one list of the tasks of all machines.
// It appends tasks to the end, and removes them again from the end.
#include "optimise/search/first_order.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace ripeline::optimise {
namespace {

// The most tasks to look at: in the first attempt, and in the search after a dead end.
constexpr std::int64_t kMostSteps = 50'000'000;
constexpr std::int64_t kMostSearchSteps = 5'000'000;
// The most numbers in all remembered states together; a state has one number per lane.
constexpr std::int64_t kMostRemembered = 10'000'000;

class FirstOrder {
 public:
  explicit FirstOrder(const Model& model)
      : model_(model),
        next_(model.lanes.size(), 0),
        missing_(model.takes.size(), 0),
        held_(model.pools.size(), 0),
        near_feeds_(model.takes.size()) {
    for (int task = 0; task < model.tasks(); ++task) {
      for (const int other : model.after(task)) at(near_feeds_, other).push_back(task);
      at(missing_, task) =
          static_cast<int>(model.needs_of(task).size() + model.after(task).size()) +
          (number_of(task) > 0 ? 1 : 0);
    }
    find_microbatches();
    for (int task = 0; task < model.tasks(); ++task) {
      if (at(missing_, task) == 0) ready_.insert(entry_of(task));
    }
  }

  std::optional<Rows> find() {
    steps_ = kMostSteps;
    while (list_first()) {
    }
    if (!is_complete()) {
      take_back_to(0);
      steps_ = kMostSearchSteps;
      search();
    }
    if (!is_complete()) return std::nullopt;
    Rows rows(model_.machines.size());
    for (const int task : listed_) at(rows, machine_of(task)).push_back(at(model_.lane_of, task));
    return rows;
  }

 private:
  // The sorting key of a task; tasks with smaller keys are preferred.
  using Entry = std::tuple<int, Time, int>;  // microbatch, head, task

  // A choice after the first `listed` tasks: any of `tasks` may follow. tasks[next] is tried next.
  struct Branch {
    std::size_t listed = 0;
    std::vector<int> tasks;
    std::size_t next = 0;
  };

  [[nodiscard]] int number_of(int task) const {
    return task - at(model_.lanes, at(model_.lane_of, task)).first;
  }
  [[nodiscard]] int machine_of(int task) const {
    return at(model_.lanes, at(model_.lane_of, task)).machine;
  }
  [[nodiscard]] bool is_complete() const { return size_of(listed_) == model_.tasks(); }
  [[nodiscard]] Entry entry_of(int task) const {
    return {at(microbatch_, task), at(model_.heads, task), task};
  }

  template <class Each>
  void for_dependents(int task, const Each& each) const {
    for (const Model::Arc& arc : model_.feeds_of(task)) each(arc.task);
    for (const int other : at(near_feeds_, task)) each(other);
    const Model::Lane& lane = at(model_.lanes, at(model_.lane_of, task));
    if (task + 1 < lane.first + lane.tasks) each(task + 1);
  }

  // Sets each task's microbatch: the latest one among its own and those of the tasks that it needs.
  void find_microbatches() {
    std::vector<int> missing = missing_;
    std::queue<int> met;
    for (int task = 0; task < model_.tasks(); ++task) {
      microbatch_.push_back(number_of(task));
      if (at(missing, task) == 0) met.push(task);
    }
    for (; !met.empty(); met.pop()) {
      const int task = met.front();
      for_dependents(task, [&](int other) {
        at(microbatch_, other) = std::max(at(microbatch_, other), at(microbatch_, task));
        if (--at(missing, other) == 0) met.push(other);
      });
    }
  }

  [[nodiscard]] const Model::Use& use_of(int pool, int task) const {
    return at(at(model_.pools, pool).uses, at(model_.lane_of, task));
  }
  [[nodiscard]] bool has_room(int task) const {
    const std::vector<int>& pools = at(model_.machines, machine_of(task)).pools;
    return std::all_of(pools.begin(), pools.end(), [&](int p) {
      const Model::Use& use = use_of(p, task);
      return use.acquires == 0 || at(held_, p) + use.asks <= at(model_.pools, p).capacity;
    });
  }
  // Whether no pool holds more after the task than before it.
  [[nodiscard]] bool takes_nothing(int task) const {
    const std::vector<int>& pools = at(model_.machines, machine_of(task)).pools;
    return std::all_of(pools.begin(), pools.end(),
                       [&](int p) { return use_of(p, task).acquires <= use_of(p, task).releases; });
  }

  void list(int task) {
    ready_.erase(entry_of(task));
    listed_.push_back(task);
    ++at(next_, at(model_.lane_of, task));
    for (const int p : at(model_.machines, machine_of(task)).pools) {
      at(held_, p) += use_of(p, task).acquires - use_of(p, task).releases;
    }
    for_dependents(task, [&](int other) {
      if (--at(missing_, other) == 0) ready_.insert(entry_of(other));
    });
  }

  void take_back_to(std::size_t listed) {
    while (listed_.size() > listed) {
      const int task = listed_.back();
      listed_.pop_back();
      --at(next_, at(model_.lane_of, task));
      for (const int p : at(model_.machines, machine_of(task)).pools) {
        at(held_, p) -= use_of(p, task).acquires - use_of(p, task).releases;
      }
      for_dependents(task, [&](int other) {
        if (at(missing_, other)++ == 0) ready_.erase(entry_of(other));
      });
      ready_.insert(entry_of(task));
    }
  }

  // Appends the first ready task that finds room; returns false if there is none.
  bool list_first() {
    for (const Entry& entry : ready_) {
      if (--steps_ < 0) return false;
      if (!has_room(std::get<2>(entry))) continue;
      list(std::get<2>(entry));
      return true;
    }
    return false;
  }

  // Appends ready tasks that find room and take nothing, until there are no more such tasks.
  void list_what_takes_nothing() {
    for (bool goes = true; std::exchange(goes, false) && steps_ > 0;) {
      for (const Entry& entry : ready_) {
        const int task = std::get<2>(entry);
        --steps_;
        if (!takes_nothing(task) || !has_room(task)) continue;
        list(task);
        goes = true;
        break;
      }
    }
  }

  // Searches all orders. A state is the number of listed tasks per lane; each is visited only once.
  void search() {
    std::vector<Branch> branches;
    for (bool back = false; steps_ > 0;) {
      if (!back) {
        list_what_takes_nothing();
        if (is_complete()) return;
        branches.push_back({.listed = listed_.size(), .tasks = {}});
        if (remember()) {
          for (const Entry& entry : ready_) {
            --steps_;
            if (has_room(std::get<2>(entry))) branches.back().tasks.push_back(std::get<2>(entry));
          }
        }
      }
      Branch& branch = branches.back();
      take_back_to(branch.listed);
      back = branch.next == branch.tasks.size();
      if (!back) {
        list(branch.tasks[branch.next++]);
        continue;
      }
      branches.pop_back();
      if (branches.empty()) return;
    }
  }

  // Remembers the state; returns false if it is known already. Too many states end the search.
  bool remember() {
    const auto most = static_cast<std::size_t>(kMostRemembered / (size_of(model_.lanes) + 1));
    if (met_.size() > most) steps_ = 0;
    return met_.insert(next_).second;
  }

  const Model& model_;
  std::vector<int> next_;           // per lane
  std::vector<int> missing_;        // per task: needs that are not listed
  std::vector<std::int64_t> held_;  // per pool
  std::vector<std::vector<int>> near_feeds_;
  std::vector<int> microbatch_;  // per task
  std::set<Entry> ready_;        // tasks whose needs are listed
  std::vector<int> listed_;
  std::set<std::vector<int>> met_;  // states that are dead ends, or on the present path
  std::int64_t steps_ = 0;          // the steps that are left
};

}  // namespace

std::optional<Rows> first_order(const Model& model) { return FirstOrder(model).find(); }

}  // namespace ripeline::optimise
