#include "core/order.h"

#include <algorithm>

#include "core/vocabulary/index.h"

namespace ripeline::core {

OrderWriter::OrderWriter(const ProgramFacts& facts, int rank, int microbatches)
    : facts_(facts), microbatches_(microbatches), own_(facts.lanes_of(rank)) {
  for (LaneId lane = own_.first; lane < own_.end; ++lane) {
    chunks_ = std::max(chunks_, facts.lanes[index(lane)].chunk + 1);
  }
  const std::size_t ops = facts.ops.size();
  lanes_.assign(index(chunks_) * ops, -1);
  for (LaneId lane = own_.first; lane < own_.end; ++lane) {
    const LaneFacts& l = facts.lanes[index(lane)];
    lanes_[index(l.chunk) * ops + index(l.op)] = lane;
  }
  listed_.assign(index(own_.end - own_.first), 0);
}

LaneId OrderWriter::lane(int op, std::int64_t chunk) const {
  return chunk >= 0 && chunk < chunks_ ? lanes_[index(chunk) * facts_.ops.size() + index(op)] : -1;
}

void OrderWriter::add(int op, std::int64_t chunk) {
  const LaneId its = lane(op, chunk);
  if (its >= 0) tasks_.push_back({its, listed_[index(its - own_.first)]++});
}

bool OrderWriter::has_left(int op, std::int64_t chunk) const {
  const LaneId its = lane(op, chunk);
  return its >= 0 && listed_[index(its - own_.first)] < facts_.tasks_of(its, microbatches_);
}

void CommittedOrder::reset(const ProgramFacts& facts, std::span<const Task> tasks) {
  for (Places& its : engines_) {
    its.tasks.clear();
    its.next = 0;
  }
  for (const Task& task : tasks) {
    engines_[static_cast<std::size_t>(facts.lanes[index(task.lane)].engine)].tasks.push_back(task);
  }
}

void FollowedOrder::reset(LaneSpan lanes) {
  first_lane_ = lanes.first;
  lanes_.resize(index(lanes.end - lanes.first));
  for (Lane& lane : lanes_) {
    lane.places.clear();
    lane.started = 0;
  }
}

void FollowedOrder::reset(LaneSpan lanes, std::span<const Task> tasks) {
  reset(lanes);
  int place = 0;
  for (const Task& task : tasks) lanes_[index(task.lane - first_lane_)].places.push_back(place++);
}

void FollowedTasks::reset(std::span<const Task> tasks) {
  tasks_.assign(tasks.begin(), tasks.end());
  started_.assign(tasks.size(), false);
  begin_ = 0;
}

void FollowedTasks::started(Task task) {
  const auto it =
      std::find(tasks_.begin() + static_cast<std::ptrdiff_t>(begin_), tasks_.end(), task);
  if (it == tasks_.end()) return;
  started_[index(it - tasks_.begin())] = true;
  while (begin_ < tasks_.size() && started_[begin_]) ++begin_;
}

void OrderStream::take(OrderWriter& order) {
  for (; at_ < items_.size(); ++at_) {
    Items& items = items_[at_];
    if (items.count == 0 || !order.has_left(items.op, items.chunk)) continue;
    --items.count;
    return order.add(items.op, items.chunk);
  }
}

}  // namespace ripeline::core
