#include "spec/hint.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/vocabulary/turn.h"
#include "spec/priority.h"

namespace ripeline::spec {
namespace {

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

std::vector<int> HintPolicy::tie_order(const Program& program, int rank, int op) {
  std::vector<int> lanes;  // by chunk, since a rank's lanes are numbered so
  for (int lane = program.first_lane(rank); lane < program.first_lane(rank + 1); ++lane) {
    if (at(program.lanes, lane).op == op) lanes.push_back(lane);
  }
  if (at(program.ops, op).kind != OpKind::forward) {
    std::reverse(lanes.begin(), lanes.end());
  }
  return lanes;
}

HintPolicy::HintPolicy(const Program& program, int rank, int microbatches)
    : program_(&program), rank_(rank) {
  const Hint& hint = program.dispatch.hint;
  std::vector<int> seen;  // by places and `fill`
  const auto lanes_of = [&](const HintPlace& place) {
    std::vector<int> lanes = tie_order(program, rank, place.op);
    std::erase_if(lanes, [&](int lane) { return !place.lists(at(program.lanes, lane)); });
    return lanes;
  };
  for (const HintPlace& place : hint.places) {
    listed_.push_back(lanes_of(place));
    seen.insert(seen.end(), listed_.back().begin(), listed_.back().end());
  }
  for (const HintPlace& place : hint.fill) {
    for (const int lane : lanes_of(place)) {
      if (contains(seen, lane)) continue;
      fill_.push_back(lane);
      seen.push_back(lane);
    }
  }
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    for (const int lane : tie_order(program, rank, op)) {
      if (!contains(seen, lane)) rest_.push_back(lane);
    }
  }
  rest_.insert(rest_.end(), fill_.begin(), fill_.end());
  if (hint.rule == Hint::Rule::priority) {
    priorities_ = std::make_shared<const Priorities>(program, rank, microbatches);
  }
  if (hint.rule != Hint::Rule::order) return;
  const int first = program.first_lane(rank);
  positions_.resize(static_cast<std::size_t>(program.first_lane(rank + 1) - first));
  const Order& order = at(program.orders, hint.order);
  Result<std::vector<Task>> tasks = expand(program, order, rank, microbatches);
  if (!tasks.ok()) return;  // a hint may be bad: then only the ties are left
  if (order.file) {
    bound_ = std::move(tasks).value();
    // A hint may be bad: what is beyond the last microbatch never starts.
    std::erase_if(bound_, [&](const Task& t) {
      return t.microbatch >= program.tasks_of(t.lane, microbatches);
    });
    return;
  }
  for (int i = 0; i < static_cast<int>(tasks.value().size()); ++i) {
    const int lane = at(tasks.value(), i).lane;
    positions_[static_cast<std::size_t>(lane - first)].push_back(i);
  }
}

Task HintPolicy::bound(const std::function<bool(const Task&)>& may_start) const {
  const auto it = std::find_if(bound_.begin(), bound_.end(), may_start);
  return it == bound_.end() ? Task{} : *it;
}

Task HintPolicy::greatest(const std::function<int(int lane, int from)>& next,
                          const std::function<std::int64_t(int pool)>& held) const {
  Task best;
  if (!priorities_) return best;
  std::int64_t most = 0;
  for (const std::vector<int>& lanes : listed_) {
    for (const int lane : lanes) {
      const bool all = priorities_->tells_apart(lane);
      for (int task = next(lane, 0); task >= 0; task = all ? next(lane, task + 1) : -1) {
        const std::int64_t value = priorities_->value({lane, task}, held);
        if (best.lane >= 0 && value <= most) continue;
        best = {lane, task};
        most = value;
      }
    }
  }
  return best;
}

std::int64_t HintPolicy::priority(const Task& task,
                                  const std::function<std::int64_t(int pool)>& held) const {
  return priorities_->value(task, held);
}

HintPolicy::State HintPolicy::initial() const {
  return {.round = 0, .started = std::vector<int>(positions_.size(), 0)};
}

int HintPolicy::earliest(const State& state, const std::function<bool(int)>& may) const {
  const int first = program_->first_lane(rank_);
  int best = -1;
  int best_position = std::numeric_limits<int>::max();
  for (std::size_t own = 0; own < positions_.size(); ++own) {
    const auto next = static_cast<std::size_t>(state.started[own]);
    if (next >= positions_[own].size() || positions_[own][next] >= best_position) continue;
    const int lane = first + static_cast<int>(own);
    if (contains(fill_, lane) || !may(lane)) continue;
    best = lane;
    best_position = positions_[own][next];
  }
  return best;
}

int HintPolicy::next(const State& state, const std::function<bool(int)>& has_room,
                     const std::function<bool(int)>& may_start) const {
  const int first = earliest(state, [](int) { return true; });
  if (first >= 0 && has_room(first)) return first;
  const auto filler = std::find_if(fill_.begin(), fill_.end(), may_start);
  return filler != fill_.end() ? *filler : earliest(state, has_room);
}

int HintPolicy::choose(const State& state, const std::function<bool(int)>& may_start) const {
  const auto first_of = [&](const std::vector<int>& lanes) {
    const auto it = std::find_if(lanes.begin(), lanes.end(), may_start);
    return it == lanes.end() ? -1 : *it;
  };
  if (program_->dispatch.hint.rule == Hint::Rule::order) {
    if (!fill_.empty()) {
      const int first = earliest(state, [](int) { return true; });
      if (first >= 0 && may_start(first)) return first;
      if (const int lane = first_of(fill_); lane >= 0) return lane;
    }
    const int lane = earliest(state, may_start);
    return lane >= 0 ? lane : first_of(rest_);
  }
  const std::size_t places = listed_.size();
  for (std::size_t i = 0; i < places; ++i) {
    const auto offset = static_cast<std::size_t>(state.round);  // 0 for prefer and none
    if (const int lane = first_of(listed_[(offset + i) % places]); lane >= 0) return lane;
  }
  return first_of(rest_);
}

void HintPolicy::started(State& state, int lane) const {
  const Hint& hint = program_->dispatch.hint;
  if (hint.rule == Hint::Rule::order) {
    ++state.started[static_cast<std::size_t>(lane - program_->first_lane(rank_))];
  } else if (hint.rule == Hint::Rule::rounds) {
    state.round =
        contains(fill_, lane)
            ? 0
            : core::turn_after(state.round, static_cast<int>(listed_.size()),
                               [&](int place) { return contains(at(listed_, place), lane); });
  }
}

}  // namespace ripeline::spec
