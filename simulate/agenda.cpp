#include "simulate/agenda.h"

#include <algorithm>
#include <utility>

namespace ripeline::simulate {

void Agenda::Queue::grow() {
  std::vector<AgendaEvent> larger(size == 0 ? 16 : 2 * size);
  for (std::size_t i = 0; i < count; ++i) larger[i] = at(i);
  ring = std::move(larger);
  size = ring.size();
  first = 0;
}

std::size_t Agenda::empty_queue(core::Time delay) {
  for (std::size_t i = 0; i < kQueues; ++i) {
    if (queues_[i].count > 0) continue;
    delays_[i] = delay;
    used_ = std::max(used_, i + 1);
    return i;
  }
  return kHeap;
}

AgendaEvent& Agenda::heap_end() { return heap_.emplace_back(); }

void Agenda::sift() { std::push_heap(heap_.begin(), heap_.end(), After{}); }

AgendaEvent Agenda::take_from_heap() {
  std::pop_heap(heap_.begin(), heap_.end(), After{});
  const AgendaEvent taken = heap_.back();
  heap_.pop_back();
  heads_[kHeap] = heap_.empty() ? kNever : when_of(heap_.front().at, heap_.front().number);
  find_next();
  return taken;
}

void Agenda::clear() {
  for (Queue& queue : queues_) queue.first = queue.count = 0;
  heap_.clear();
  heads_.fill(kNever);
  find_next();
  numbers_ = taken_ = 0;
}

}  // namespace ripeline::simulate
