// Room that is kept for the rest of an order, as arbiters of `dispatch ready keeping` use it.
//
// A task may start only if, once it has run, the tasks that the order lists before it still find
// room one after the other (spec/program.h has the rule in full). The caller keeps `order` up to
// date (core/order.h): it must be complete, learn of each start before this object does, and
// outlive this object. Only begin_step() allocates memory; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/facts.h"
#include "core/order.h"

namespace ripeline::core {

class KeptOrder {
 public:
  // The facts must outlive this object.
  KeptOrder(const ProgramFacts& facts, int rank);

  void begin_step(int microbatches, const FollowedOrder& order);
  void started();

  // Whether room remains for the tasks before the lane's next occurrence in the order. `held(pool)`
  // is the amount of the pool that is held now; `pool` is an index into the program's pools.
  template <class Held>
  [[nodiscard]] bool admits(LaneId lane, const Held& held) const {
    const auto own = static_cast<std::size_t>(order_->next_place(lane));
    if (own <= first_) return true;
    for (std::size_t i = 0; i < pools_.size(); ++i) held_[i] = held(pools_[i]);
    return finds_room(lane, own);
  }

 private:
  struct Use {
    int pool = 0;  // index into pools_
    std::int64_t acquires = 0;
    std::int64_t releases = 0;
    std::int64_t most = 0;  // the greatest amount held with which the task may start
  };
  [[nodiscard]] bool finds_room(LaneId lane, std::size_t own) const;
  void run(LaneId lane) const;
  [[nodiscard]] const std::vector<Use>& uses_of(LaneId lane) const {
    return uses_[static_cast<std::size_t>(lane - lanes_.first)];
  }

  const ProgramFacts* facts_;
  LaneSpan lanes_;
  std::vector<int> pools_;              // the pools with a capacity that the rank's lanes use
  std::vector<std::vector<Use>> uses_;  // by lane of the rank
  const FollowedOrder* order_ = nullptr;
  std::vector<LaneId> places_;              // by place, the lane; -1 beyond the last microbatch
  std::size_t first_ = 0;                   // all places before this one have started
  mutable std::vector<std::int64_t> held_;  // per entry of pools_: scratch of admits()
};

}  // namespace ripeline::core
