// Hint: which lane a rank takes next, of those that have a task that may start.
//
// A hint sees lanes only: of the chosen lane the lowest microbatch starts. Only an order from a
// file binds microbatches, and a priority may tell them apart. A place of a hint lists the lanes of
// an op, or with `@` the one at a chunk. The rules:
//  * prefer A, B: the first place that has a lane.
//  * rounds A, A, B: places are tried from the one after the last taken; when the rest of the round
//    has nothing, a new round begins at the first. A place that has nothing is passed, and its turn
//    is over. What starts takes the first place that lists it, from the one to try first on; what
//    no place lists leaves the round where it is, but a `fill` ends it.
//  * following an order: the lane whose next occurrence in the order is earliest; lanes without one
//    come after. Of an order from a file: the task that stands earliest in it. With `fill` ops: the
//    earliest lane of the others, if it has a task that may start; else a `fill`; else as before.
//  * priority A = …, B = …: of the tasks of the places the one with the greatest value. Of equal
//    ones that of the first place, then by the ties, then the lowest microbatch.
//  * A lane that the hint does not list comes after those it lists, its ops in order of
//    declaration, and before `fill`; those of `fill` come last, in order. A lane that a place lists
//    is no `fill`.
//  * Ties among lanes of one op: forwards the lower chunk, all others the higher.
// A Hint is these rules as tables for one rank, made once; it has no state. Immutable.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/vocabulary/task.h"

namespace ripeline::core {

enum class HintRule : std::uint8_t {
  none,      // the ties alone
  prefer,    // strict
  rounds,    // a place in each turn
  order,     // follows an order
  priority,  // the greatest value
};
inline constexpr std::array kHintRuleNames = {"none", "prefer", "rounds", "order", "priority"};
[[nodiscard]] constexpr const char* name_of(HintRule rule) {
  return kHintRuleNames[static_cast<std::size_t>(rule)];
}

// No occurrence of a lane in an order.
inline constexpr int kNoPlace = std::numeric_limits<int>::max();

class Hint {
 public:
  // A lane whose tasks have values.
  struct Valued {
    LaneId lane = -1;
    bool tells_apart = false;  // its tasks may have different ones
  };

  Hint() = default;
  // The rank's lanes are first .. end - 1 of `lanes`, in the order of their chunks. `Ops`
  // have a kind, `Lanes` an op, and `Places` an op, lists(lane) and tells_apart().
  template <class Ops, class Lanes, class Places>
  Hint(HintRule rule, const Ops& ops, const Lanes& lanes, LaneId first, LaneId end,
       const Places& places, const Places& fill)
      : rule_(rule), first_(first), fills_(static_cast<std::size_t>(end - first), false) {
    const auto lanes_of = [&](int op) {
      std::vector<LaneId> found;
      for (LaneId lane = first; lane < end; ++lane) {
        if (lanes[static_cast<std::size_t>(lane)].op == op) found.push_back(lane);
      }
      const bool is_forward = ops[static_cast<std::size_t>(op)].kind == OpKind::forward;
      if (!is_forward) std::reverse(found.begin(), found.end());
      return found;
    };
    std::vector<std::vector<LaneId>> listed;
    for (const auto& place : places) {
      std::vector<LaneId>& its = listed.emplace_back(lanes_of(place.op));
      std::erase_if(its,
                    [&](LaneId l) { return !place.lists(lanes[static_cast<std::size_t>(l)]); });
      for (const LaneId lane : its) valued_.push_back({lane, place.tells_apart()});
    }
    for (const auto& place : fill) {
      for (const LaneId lane : lanes_of(place.op)) {
        const bool is_listed = std::any_of(valued_.begin(), valued_.end(),
                                           [&](const Valued& v) { return v.lane == lane; });
        if (is_listed || fills(lane) || !place.lists(lanes[static_cast<std::size_t>(lane)])) {
          continue;
        }
        fill_.push_back(lane);
        fills_[static_cast<std::size_t>(lane - first_)] = true;
      }
    }
    std::vector<LaneId> others;
    for (int op = 0; op < static_cast<int>(ops.size()); ++op) {
      for (const LaneId lane : lanes_of(op)) others.push_back(lane);
    }
    make_tables(listed, others);
  }

  [[nodiscard]] HintRule rule() const { return rule_; }
  // The lanes in the order in which they are tried: of rounds, with this place first. Following an
  // order and by priority, what comes when those rules have nothing.
  [[nodiscard]] std::span<const LaneId> tried(int round) const {
    return tried_[static_cast<std::size_t>(round)];
  }
  // The place to try first once a task of `lane` has started; 0 of what has no rounds.
  [[nodiscard]] int next_round(int round, LaneId lane) const {
    if (next_rounds_.empty()) return 0;
    return next_rounds_[static_cast<std::size_t>(round) * fills_.size() +
                        static_cast<std::size_t>(lane - first_)];
  }
  // By priority: the lanes to compare, in the order of the places and ties.
  [[nodiscard]] std::span<const Valued> valued() const { return valued_; }
  [[nodiscard]] bool fills(LaneId lane) const {
    return fills_[static_cast<std::size_t>(lane - first_)];
  }

  // Following an order, the lane to take or -1: `next_place(lane)` says where the lane's next
  // occurrence stands in it, or kNoPlace; `may_start(lane)` whether it has a task that may start.
  // The lane that is taken is the last for which it said so.
  template <class NextPlace, class MayStart>
  [[nodiscard]] LaneId followed(const NextPlace& next_place, const MayStart& may_start) const {
    if (!fill_.empty()) {
      const LaneId first = earliest(next_place, [](LaneId) { return true; });
      if (first >= 0 && may_start(first)) return first;
      if (const LaneId lane = first_of(fill_, may_start); lane >= 0) return lane;
    }
    const LaneId lane = earliest(next_place, may_start);
    return lane >= 0 ? lane : first_of(tried(0), may_start);
  }
  // Following an order, the lane that a hint with patience waits for, or -1. It is the earliest of
  // those that are no `fill`; if that has no room, a `fill` that may start; if none may, the
  // earliest that has room. `has_room` says no also of lanes of other engines.
  template <class NextPlace, class HasRoom, class MayStart>
  [[nodiscard]] LaneId awaited(const NextPlace& next_place, const HasRoom& has_room,
                               const MayStart& may_start) const {
    const LaneId first = earliest(next_place, [](LaneId) { return true; });
    if (first >= 0 && has_room(first)) return first;
    const LaneId filler = first_of(fill_, may_start);
    return filler >= 0 ? filler : earliest(next_place, has_room);
  }

 private:
  void make_tables(const std::vector<std::vector<LaneId>>& listed,
                   const std::vector<LaneId>& lanes);

  template <class May>
  [[nodiscard]] static LaneId first_of(std::span<const LaneId> lanes, const May& may) {
    const auto it = std::find_if(lanes.begin(), lanes.end(), may);
    return it == lanes.end() ? -1 : *it;
  }
  // The lane, no `fill`, whose next occurrence is earliest of those for which `may` holds, or -1.
  template <class NextPlace, class May>
  [[nodiscard]] LaneId earliest(const NextPlace& next_place, const May& may) const {
    LaneId best = -1;
    int place = kNoPlace;
    const auto end = first_ + static_cast<LaneId>(fills_.size());
    for (LaneId lane = first_; lane < end; ++lane) {
      const int its = next_place(lane);
      if (its >= place || fills(lane) || !may(lane)) continue;
      best = lane;
      place = its;
    }
    return best;
  }

  HintRule rule_ = HintRule::none;
  LaneId first_ = 0;
  std::vector<bool> fills_;                 // per lane of the rank
  std::vector<LaneId> fill_;                // in order of preference
  std::vector<Valued> valued_;              // the lanes of the places
  std::vector<std::vector<LaneId>> tried_;  // per place to try first, or one
  std::vector<int> next_rounds_;            // per place and lane, for rounds
};

}  // namespace ripeline::core
