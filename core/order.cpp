#include "core/order.h"

namespace ripeline::core {

void CommittedOrder::reset(LaneId first_lane, LaneId end_lane) {
  first_lane_ = first_lane;
  listed_.assign(static_cast<std::size_t>(end_lane - first_lane), 0);
  tasks_.clear();
  place_ = 0;
}

void CommittedOrder::add(LaneId lane) {
  if (lane < 0) return;
  tasks_.push_back({lane, listed_[static_cast<std::size_t>(lane - first_lane_)]++});
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

}  // namespace ripeline::core
