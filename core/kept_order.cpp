#include "core/kept_order.h"

#include <algorithm>
#include <limits>

namespace ripeline::core {

KeptOrder::KeptOrder(const ProgramFacts& facts, int rank)
    : facts_(&facts), lanes_(facts.lanes_of(rank)) {
  uses_.resize(static_cast<std::size_t>(lanes_.end - lanes_.first));
  for (const UseFacts& use : facts.uses) {
    const std::int64_t capacity = facts.pools[static_cast<std::size_t>(use.pool)].capacity;
    if (use.lane < lanes_.first || use.lane >= lanes_.end || capacity < 0) continue;
    auto pool = std::find(pools_.begin(), pools_.end(), use.pool);
    if (pool == pools_.end()) pool = pools_.insert(pool, use.pool);
    // A use that only releases admits any held amount.
    const std::int64_t most = use.acquires > 0 ? capacity - use.acquires - use.leaving
                                               : std::numeric_limits<std::int64_t>::max();
    uses_[static_cast<std::size_t>(use.lane - lanes_.first)].push_back(
        {static_cast<int>(pool - pools_.begin()), use.acquires, use.releases, most});
  }
  held_.resize(pools_.size());
}

void KeptOrder::begin_step(int microbatches, const FollowedOrder& order) {
  order_ = &order;
  first_ = 0;
  places_.clear();
  for (LaneId lane = lanes_.first; lane < lanes_.end; ++lane) {
    const auto tasks = static_cast<std::size_t>(facts_->tasks_of(lane, microbatches));
    for (std::size_t i = 0;; ++i) {
      const int place = order.place(lane, i);
      if (place == kNoPlace) break;
      if (static_cast<std::size_t>(place) >= places_.size()) {
        places_.resize(static_cast<std::size_t>(place) + 1, -1);
      }
      if (i < tasks) places_[static_cast<std::size_t>(place)] = lane;
    }
  }
}

void KeptOrder::started() {
  while (first_ < places_.size() &&
         (places_[first_] < 0 || static_cast<int>(first_) < order_->next_place(places_[first_]))) {
    ++first_;
  }
}

void KeptOrder::run(LaneId lane) const {
  for (const Use& use : uses_of(lane)) {
    held_[static_cast<std::size_t>(use.pool)] += use.acquires - use.releases;
  }
}

// `own` is the place of the lane's next occurrence.
bool KeptOrder::finds_room(LaneId lane, std::size_t own) const {
  run(lane);
  for (std::size_t place = first_; place < std::min(own, places_.size()); ++place) {
    const LaneId before = places_[place];
    if (before < 0 || static_cast<int>(place) < order_->next_place(before)) continue;
    for (const Use& use : uses_of(before)) {
      if (held_[static_cast<std::size_t>(use.pool)] > use.most) return false;
    }
    run(before);
  }
  return true;
}

}  // namespace ripeline::core
