#include "simulate/agenda.h"

#include <algorithm>
#include <utility>

namespace ripeline::simulate {

void Agenda::Queue::grow() {
  std::vector<Happening> larger(ring.empty() ? 16 : 2 * ring.size());
  for (std::size_t i = 0; i < count; ++i) larger[i] = at(i);
  ring = std::move(larger);
  mask = ring.size() - 1;
  first = 0;
}

void Agenda::put(core::Time now, core::Time delay, Happening::Kind kind, std::int32_t what,
                 std::int32_t microbatch, std::int32_t ordinal) {
  const Head added{now + delay, numbers_++};
  const auto fill = [&](Happening& h) {
    h.at = added.at;
    h.number = added.number;
    h.sent = now;
    h.what = what;
    h.microbatch = microbatch;
    h.ordinal = ordinal;
    h.kind = kind;
  };
  const std::size_t place = queue_for(delay);
  if (place == kHeap) {
    fill(heap_.emplace_back());
    std::push_heap(heap_.begin(), heap_.end(), after);
  } else {
    Queue& queue = queues_[place];
    if (queue.count == queue.ring.size()) queue.grow();
    fill(queue.at(queue.count++));
  }
  if (!before(added, heads_[place])) return;  // most calls
  heads_[place] = added;
  if (place != next_) find_next();
}

// That of the delay, else an empty one, else the heap.
std::size_t Agenda::queue_for(core::Time delay) {
  for (std::size_t i = 0; i < used_; ++i) {
    if (delays_[i] == delay) return i;
  }
  for (std::size_t i = 0; i < kQueues; ++i) {
    if (queues_[i].count > 0) continue;
    delays_[i] = delay;
    used_ = std::max(used_, i + 1);
    return i;
  }
  return kHeap;
}

Happening Agenda::take() {
  Head& head = heads_[next_];
  if (next_ == kHeap) {
    std::pop_heap(heap_.begin(), heap_.end(), after);
    const Happening taken = heap_.back();
    heap_.pop_back();
    head = heap_.empty() ? Head{} : Head{heap_.front().at, heap_.front().number};
    if (!before(head, limit_)) find_next();
    return taken;
  }
  Queue& queue = queues_[next_];
  const Happening taken = queue.at(0);
  ++queue.first;
  --queue.count;
  head = queue.count == 0 ? Head{} : Head{queue.at(0).at, queue.at(0).number};
  if (!before(head, limit_)) find_next();
  return taken;
}

void Agenda::find_next() {
  next_ = kHeap;
  limit_ = {};
  for (std::size_t i = 0; i < used_; ++i) {
    if (before(heads_[i], heads_[next_])) {
      limit_ = heads_[std::exchange(next_, i)];
    } else if (before(heads_[i], limit_)) {
      limit_ = heads_[i];
    }
  }
}

void Agenda::clear() {
  for (Queue& queue : queues_) queue.first = queue.count = 0;
  heap_.clear();
  heads_.fill({});
  find_next();
  numbers_ = 0;
}

}  // namespace ripeline::simulate
