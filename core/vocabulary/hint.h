// Hint: the rule by which a rank chooses a lane among those that have a task that may start.
//
// A hint chooses only a lane, whose lowest microbatch then starts. But an order from a file binds
// microbatches, and a priority may tell microbatches apart. A hint lists places; a place stands for
// the lanes of an op, or with `@` for the op's lane at one chunk. The rules:
//  * prefer A, B: the first place that has such a lane is chosen.
//  * rounds A, A, B: places are tried from the place after the last taken; if the rest of the round
//    has no such lane, a new round begins at the first place. A place that is passed over loses its
//    turn. A task that starts uses up the first place, from the place to try first on, that lists
//    its lane; if no place lists its lane, the turn stays, but a `fill` begins a new round.
//  * following an order: the lane whose next occurrence in the order is earliest, then lanes
//    without one. If the order is from a file, its earliest task is chosen. With `fill` ops, the
//    order's earliest lane of another op is first if it may start, then a `fill`, then the rest.
//  * priority A = …, B = …: among the tasks of the places, the one with the greatest value. Among
//    equal values the first place wins, then the ties decide, then the lowest microbatch.
//  * A lane that no place lists comes after the listed ones, in the order in which ops are
//    declared, and before the `fill` lanes; these come last, in their order in `fill`. A lane that
//    a place lists does not count as a `fill` lane.
//  * Ties among lanes of one op: the lower chunk wins for forwards, the higher for all others.
// A Hint has these rules as tables for one rank; they are made once. It has no state. Immutable.
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
  none,      // the rule for ties alone
  prefer,    // the first place that has a lane
  rounds,    // the places in turn
  order,     // follows an order
  priority,  // the task with the greatest value
};
inline constexpr std::array kHintRuleNames = {"none", "prefer", "rounds", "order", "priority"};
[[nodiscard]] constexpr const char* name_of(HintRule rule) {
  return kHintRuleNames[static_cast<std::size_t>(rule)];
}

// The place that stands for a lane without a further occurrence in an order.
inline constexpr int kNoPlace = std::numeric_limits<int>::max();

class Hint {
 public:
  // A lane whose tasks have values.
  struct Valued {
    LaneId lane = -1;
    bool tells_apart = false;  // its tasks may have different values
  };

  Hint() = default;
  // The rank's lanes are first .. end - 1 of `lanes`, in the order of their chunks. Each of `ops`
  // has a kind, each of `lanes` an op, each place an op, lists(lane) and tells_apart().
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
  // The lanes in the order in which they are tried. With `rounds`, `round` is the place to try
  // first. With `order` and `priority`, these lanes are tried only if the rule itself finds none.
  [[nodiscard]] std::span<const LaneId> tried(int round) const {
    return tried_[static_cast<std::size_t>(round)];
  }
  // The place to try first once a task of `lane` has started; 0 for a hint that has no rounds.
  [[nodiscard]] int next_round(int round, LaneId lane) const {
    if (next_rounds_.empty()) return 0;
    return next_rounds_[static_cast<std::size_t>(round) * fills_.size() +
                        static_cast<std::size_t>(lane - first_)];
  }
  // The lanes that the rule `priority` compares, in the order of the places and ties.
  [[nodiscard]] std::span<const Valued> valued() const { return valued_; }
  [[nodiscard]] bool fills(LaneId lane) const {
    return fills_[static_cast<std::size_t>(lane - first_)];
  }

  // The lane to take when following an order, or -1. `next_place(lane)` is the place of the lane's
  // next occurrence, or kNoPlace; `may_start(lane)` tells whether the lane has a task that may
  // start. The lane that is returned is the last one for which may_start() was true.
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
  // The lane that a hint with patience waits for when following an order, or -1: the earliest lane
  // that is no `fill`, if it has room; else a `fill` that may start; else the earliest lane that
  // has room. `has_room(lane)` must be false for lanes of other engines.
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
  // The lane that is no `fill`, satisfies `may` and has the earliest next occurrence, or -1.
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
  std::vector<std::vector<LaneId>> tried_;  // one list per place to try first, or a single one
  std::vector<int> next_rounds_;            // per place and lane, if the rule is `rounds`
};

}  // namespace ripeline::core
