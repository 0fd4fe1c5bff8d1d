#include "core/order.h"

#include <algorithm>

namespace ripeline::core {

void CommittedOrder::reset(LaneId first_lane, LaneId end_lane) {
  first_lane_ = first_lane;
  listed_.assign(static_cast<std::size_t>(end_lane - first_lane), 0);
  tasks_.clear();
  place_ = 0;
}

void CommittedOrders::reset(const ProgramFacts& facts, LaneId first_lane, LaneId end_lane) {
  facts_ = &facts;
  for (CommittedOrder& order : orders_) order.reset(first_lane, end_lane);
}

void FollowedOrder::reset(LaneId first_lane, LaneId end_lane) {
  first_lane_ = first_lane;
  lanes_.resize(static_cast<std::size_t>(end_lane - first_lane));
  for (Lane& lane : lanes_) {
    lane.places.clear();
    lane.started = 0;
  }
  length_ = 0;
}

void FollowedOrder::add(LaneId lane) {
  if (lane < 0) return;
  lanes_[static_cast<std::size_t>(lane - first_lane_)].places.push_back(length_++);
}

void FollowedTasks::reset(LaneId /*first_lane*/, LaneId /*end_lane*/) {
  tasks_.clear();
  started_.clear();
  begin_ = 0;
}

void FollowedTasks::add(Task task) {
  tasks_.push_back(task);
  started_.push_back(false);
}

void FollowedTasks::started(Task task) {
  const auto it =
      std::find(tasks_.begin() + static_cast<std::ptrdiff_t>(begin_), tasks_.end(), task);
  if (it == tasks_.end()) return;
  started_[static_cast<std::size_t>(it - tasks_.begin())] = true;
  while (begin_ < tasks_.size() && started_[begin_]) ++begin_;
}

}  // namespace ripeline::core
