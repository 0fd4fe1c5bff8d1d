#include "simulate/agenda.h"

#include <algorithm>
#include <utility>

namespace ripeline::simulate {

void Agenda::Queue::push(const Happening& happening) {
  if (count == ring.size()) {
    std::vector<Happening> larger(ring.empty() ? 16 : 2 * ring.size());
    for (std::size_t i = 0; i < count; ++i) larger[i] = ring[(first + i) & (ring.size() - 1)];
    ring = std::move(larger);
    first = 0;
  }
  ring[(first + count++) & (ring.size() - 1)] = happening;
}

void Agenda::put(core::Time now, core::Time delay, Happening happening) {
  happening.at = now + delay;
  happening.number = numbers_++;
  const bool is_next = size_ == 0 || before(happening, next());
  ++size_;
  const std::size_t queue = queue_for(delay);
  if (queue < kQueues) {
    queues_[queue].push(happening);
  } else {
    heap_.push_back(happening);
    std::push_heap(heap_.begin(), heap_.end(),
                   [](const Happening& a, const Happening& b) { return before(b, a); });
  }
  if (is_next) next_ = queue;
}

// That of the delay, else an empty one, else the heap.
std::size_t Agenda::queue_for(core::Time delay) {
  std::size_t free = kHeap;
  for (std::size_t i = 0; i < kQueues; ++i) {
    if (queues_[i].delay == delay) return i;
    if (queues_[i].count == 0 && free == kHeap) free = i;
  }
  if (free != kHeap) {
    queues_[free].delay = delay;
    used_ = std::max(used_, free + 1);
  }
  return free;
}

Happening Agenda::take() {
  Happening taken;
  if (next_ == kHeap) {
    std::pop_heap(heap_.begin(), heap_.end(),
                  [](const Happening& a, const Happening& b) { return before(b, a); });
    taken = heap_.back();
    heap_.pop_back();
  } else {
    Queue& queue = queues_[next_];
    taken = queue.front();
    ++queue.first;
    --queue.count;
  }
  --size_;
  find_next();
  return taken;
}

void Agenda::find_next() {
  next_ = kHeap;
  const Happening* best = heap_.empty() ? nullptr : &heap_.front();
  for (std::size_t i = 0; i < used_; ++i) {
    if (queues_[i].count == 0) continue;
    const Happening& front = queues_[i].front();
    if (best != nullptr && !before(front, *best)) continue;
    best = &front;
    next_ = i;
  }
}

void Agenda::clear() {
  for (Queue& queue : queues_) queue.first = queue.count = 0;
  heap_.clear();
  next_ = kHeap;
  size_ = 0;
  numbers_ = 0;
}

}  // namespace ripeline::simulate
