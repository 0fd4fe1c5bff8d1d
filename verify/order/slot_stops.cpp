#include "verify/order/slot_stops.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "spec/long_work.h"

namespace ripeline::verify {

using spec::Program;

namespace {

class SlotStops {
 public:
  SlotStops(const Program& program, int microbatches, const OrderLists& lists)
      : program_(program),
        microbatches_(microbatches),
        lists_(lists),
        begun_(program.lanes.size(), false) {}

  std::vector<std::size_t> find() {
    std::vector<Queue> queues;
    for (const spec::Edge& e : program_.edges) {
      queues.push_back(e.inbox >= 0 && e.fifo ? queue_of(e) : Queue{});
    }
    std::vector<std::size_t> stops(lists_.of_engine.size(), kNoStop);
    for (std::size_t engine = 0; engine < stops.size(); ++engine) {
      const std::vector<spec::Task>& order = lists_.of_engine[engine];
      for (std::size_t i = 0; i < order.size() && stops[engine] == kNoStop; ++i) {
        spec::stop_point();
        const auto [lane, microbatch] = order[i];
        const bool exists = microbatch < program_.tasks_of(lane, microbatches_);
        if (!exists || !slots_suffice(order[i], queues)) stops[engine] = i;
        begun_[static_cast<std::size_t>(lane)] = true;
      }
    }
    return stops;
  }

 private:
  // The messages of one fifo edge.
  struct Queue {
    std::vector<int> position;  // per microbatch: messages sent before its own; -1 if none is
    std::set<int> untaken;      // the positions of messages not taken
  };

  Queue queue_of(const spec::Edge& e) const {
    Queue queue;
    queue.position.assign(static_cast<std::size_t>(microbatches_), -1);
    for (const spec::Task& task : at(lists_.of_engine, list_of(program_, e.producer))) {
      const auto m = static_cast<std::size_t>(task.microbatch);
      if (task.lane != e.producer || m >= queue.position.size() || queue.position[m] >= 0) continue;
      if (program_.needed_by(e, task.microbatch, microbatches_) < 0) continue;
      queue.position[m] = static_cast<int>(queue.untaken.size());
      queue.untaken.insert(queue.untaken.end(), queue.position[m]);
    }
    return queue;
  }

  // Removes the task's messages from the queues; false if an inbox cannot hold all that are needed.
  bool slots_suffice(const spec::Task& task, std::vector<Queue>& queues) const {
    std::map<int, std::int64_t> at_once;  // per inbox: messages that must have arrived
    for (const int edge : at(program_.lanes, task.lane).edges) {
      const spec::Edge& e = at(program_.edges, edge);
      if (e.inbox < 0) continue;
      const auto [first, last] = slots_freed(program_, microbatches_, e, task, begun_);
      Queue& queue = at(queues, edge);
      int latest = -1;
      for (int m = first; m < last && e.fifo; ++m) latest = std::max(latest, at(queue.position, m));
      at_once[e.inbox] +=
          e.fifo ? std::distance(queue.untaken.begin(), queue.untaken.upper_bound(latest))
                 : last - first;
      for (int m = first; m < last && e.fifo; ++m) queue.untaken.erase(at(queue.position, m));
    }
    return std::all_of(at_once.begin(), at_once.end(), [&](const auto& inbox) {
      return inbox.second <= at(program_.inboxes, inbox.first).slots;
    });
  }

  const Program& program_;
  int microbatches_;
  const OrderLists& lists_;
  std::vector<bool> begun_;  // per lane: one of its tasks precedes the present task
};

}  // namespace

std::vector<std::size_t> slot_stops(const Program& program, int microbatches,
                                    const OrderLists& lists) {
  return SlotStops(program, microbatches, lists).find();
}

core::TaskSpan slots_freed(const Program& program, int microbatches, const spec::Edge& edge,
                           const spec::Task& task, const std::vector<bool>& begun) {
  if (edge.of == spec::Of::all && begun[static_cast<std::size_t>(task.lane)]) return {0, 0};
  return program.needed(edge, task.microbatch, microbatches);
}

}  // namespace ripeline::verify
