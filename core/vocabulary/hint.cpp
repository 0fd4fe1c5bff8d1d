#include "core/vocabulary/hint.h"

namespace ripeline::core {
namespace {

bool contains(std::span<const LaneId> lanes, LaneId lane) {
  return std::find(lanes.begin(), lanes.end(), lane) != lanes.end();
}

// The place to try first after a task has started: the place that follows the first one, from
// `round` on, that lists the task's lane, so that lists(place) is true; `round` if none lists it.
template <class Lists>
int turn_after(int round, int places, const Lists& lists) {
  for (int i = 0; i < places; ++i) {
    const int place = (round + i) % places;
    if (lists(place)) return (place + 1) % places;
  }
  return round;
}

// Appends the lanes of `more` that are not in `lanes` yet.
void append(std::vector<LaneId>& lanes, std::span<const LaneId> more) {
  for (const LaneId lane : more) {
    if (!contains(lanes, lane)) lanes.push_back(lane);
  }
}

}  // namespace

// `lanes` has all lanes of the rank, in the order in which unlisted lanes are tried.
void Hint::make_tables(const std::vector<std::vector<LaneId>>& listed,
                       const std::vector<LaneId>& lanes) {
  std::vector<LaneId> rest;
  for (const LaneId lane : lanes) {
    const bool is_listed = std::any_of(listed.begin(), listed.end(),
                                       [&](const auto& its) { return contains(its, lane); });
    if (!is_listed && !fills(lane)) rest.push_back(lane);
  }
  append(rest, fill_);
  const bool by_places = rule_ != HintRule::order && rule_ != HintRule::priority;
  const std::size_t places = listed.size();
  const std::size_t turns = rule_ == HintRule::rounds && places > 0 ? places : 1;
  for (std::size_t first = 0; first < turns; ++first) {
    std::vector<LaneId>& tried = tried_.emplace_back();
    for (std::size_t i = 0; by_places && i < places; ++i)
      append(tried, listed[(first + i) % places]);
    append(tried, rest);
  }
  if (rule_ != HintRule::rounds || places == 0) return;
  const auto own = static_cast<LaneId>(fills_.size());
  for (int round = 0; round < static_cast<int>(places); ++round) {
    for (LaneId lane = first_; lane < first_ + own; ++lane) {
      const auto lists = [&](int place) {
        return contains(listed[static_cast<std::size_t>(place)], lane);
      };
      next_rounds_.push_back(fills(lane) ? 0 : turn_after(round, static_cast<int>(places), lists));
    }
  }
}

}  // namespace ripeline::core
