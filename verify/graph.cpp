// One microbatch count of a committed order: ranks go on as far as they can.
#include <deque>

#include <fmt/format.h>

#include "verify/order.h"

namespace ripeline::verify {
namespace {

using spec::Program;

class OrderGraph {
 public:
  OrderGraph(const Program& program, int microbatches)
      : program_(program), microbatches_(microbatches) {}

  OrderRunResult run() {
    const spec::Order& order = at(program_.orders, program_.dispatch.order);
    for (int rank = 0; rank < program_.ranks; ++rank) {
      spec::Result<std::vector<spec::OrderTask>> tasks =
          expand(program_, order, rank, microbatches_);
      if (!tasks.ok()) {
        result_.invalid = tasks.errors();
        return std::move(result_);
      }
      check_once(rank, tasks.value());
      orders_.push_back(std::move(tasks).value());
    }
    go();
    return std::move(result_);
  }

 private:
  void check_once(int rank, const std::vector<spec::OrderTask>& tasks) {
    const int first = program_.first_lane(rank);
    std::vector<std::vector<int>> listed(
        static_cast<std::size_t>(program_.first_lane(rank + 1) - first));
    for (const spec::OrderTask& task : tasks) {
      at(listed, task.lane - first).push_back(task.microbatch);
    }
    for (int lane = first; lane < first + size_of(listed) && result_.not_once.empty(); ++lane) {
      std::vector<int>& its = at(listed, lane - first);
      std::sort(its.begin(), its.end());
      // The first that is not the one after what stands before it.
      int next = 0;
      while (next < size_of(its) && its[static_cast<std::size_t>(next)] == next) ++next;
      if (next == microbatches_ && next == size_of(its)) continue;
      const int found = next < size_of(its) ? at(its, next) : microbatches_;
      if (found < next) {
        result_.not_once = fmt::format("{} is listed twice", program_.task_name(lane, found));
      } else if (next < microbatches_) {
        result_.not_once = fmt::format("{} is missing", program_.task_name(lane, next));
      } else {
        result_.not_once =
            fmt::format("{} is beyond the last microbatch", program_.task_name(lane, found));
      }
    }
  }

  void go() {
    const auto ranks = static_cast<std::size_t>(program_.ranks);
    position_.assign(ranks, 0);
    done_.resize(program_.lanes.size());
    for (const auto& tasks : orders_) {
      for (const spec::OrderTask& task : tasks) {
        std::vector<bool>& its = at(done_, task.lane);
        const auto size = static_cast<std::size_t>(std::min(task.microbatch + 1, microbatches_));
        if (its.size() < size) its.resize(size, false);
      }
    }
    held_.assign(program_.pools.size(), 0);
    result_.peaks.assign(program_.pools.size(), 0);
    result_.peak_at.assign(program_.pools.size(), -1);
    waiting_.resize(program_.lanes.size());
    for (int rank = 0; rank < program_.ranks; ++rank) ready_.push_back(rank);
    while (!ready_.empty()) {
      const int rank = ready_.front();
      ready_.pop_front();
      advance(rank);
    }
    const auto tasks = program_.lanes.size() * static_cast<std::size_t>(microbatches_);
    result_.finished = result_.run.size() == tasks;
  }

  // Runs the rank until its next task cannot start, and leaves its name with the lane that it waits
  // for.
  void advance(int rank) {
    const std::vector<spec::OrderTask>& order = at(orders_, rank);
    for (std::size_t& next = position_[static_cast<std::size_t>(rank)]; next < order.size();
         ++next) {
      const auto [lane, microbatch] = order[next];
      // Beyond the last, or listed before: it never starts.
      if (microbatch >= microbatches_ || is_done(lane, microbatch)) return;
      for (const int edge : at(program_.lanes, lane).edges) {
        const int producer = at(program_.edges, edge).producer;
        if (!is_done(producer, microbatch)) {
          at(waiting_, producer).push_back(rank);
          return;
        }
      }
      const bool waits_for_itself = at(program_.lanes, lane).sequential && microbatch > 0 &&
                                    !is_done(lane, microbatch - 1);
      if (waits_for_itself || !has_room(lane)) return;
      start(lane, microbatch);
    }
  }

  bool is_done(int lane, int microbatch) const {
    const std::vector<bool>& its = at(done_, lane);
    const auto m = static_cast<std::size_t>(microbatch);
    return m < its.size() && its[m];
  }

  bool has_room(int lane) const {
    const auto& acquires = at(program_.lanes, lane).acquires;
    return std::all_of(acquires.begin(), acquires.end(), [&](const spec::Acquire& a) {
      const auto& capacity = at(program_.pools, a.pool).capacity;
      return !capacity || at(held_, a.pool) + a.amount + a.leaving <= *capacity;
    });
  }

  void start(int lane, int microbatch) {
    const spec::Lane& l = at(program_.lanes, lane);
    for (const auto& a : l.acquires) {
      std::int64_t& held = at(held_, a.pool);
      held += a.amount;
      if (held > at(result_.peaks, a.pool)) {
        at(result_.peaks, a.pool) = held;
        at(result_.peak_at, a.pool) = size_of(result_.run);
      }
    }
    for (const auto& r : l.releases) at(held_, r.pool) -= r.amount;
    result_.run.push_back({lane, microbatch});
    at(done_, lane)[static_cast<std::size_t>(microbatch)] = true;
    for (const int rank : at(waiting_, lane)) ready_.push_back(rank);
    at(waiting_, lane).clear();
  }

  const Program& program_;
  int microbatches_;
  OrderRunResult result_;
  std::vector<std::vector<spec::OrderTask>> orders_;
  std::vector<std::size_t> position_;      // per rank
  std::vector<std::vector<bool>> done_;    // per lane, by microbatch
  std::vector<std::int64_t> held_;         // per pool
  std::vector<std::vector<int>> waiting_;  // per lane: ranks that wait for its next task
  std::deque<int> ready_;                  // ranks that may be able to go on
};

}  // namespace

OrderRunResult run_order(const Program& program, int microbatches) {
  return OrderGraph(program, microbatches).run();
}

}  // namespace ripeline::verify
