#include "spec/hint.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ripeline::spec {
namespace {

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

std::vector<int> HintPolicy::op_preference(const Program& program, const Hint& hint) {
  std::vector<int> preference = hint.ops;
  for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
    if (!contains(hint.ops, op) && !contains(hint.fill, op)) preference.push_back(op);
  }
  preference.insert(preference.end(), hint.fill.begin(), hint.fill.end());
  return preference;
}

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
  const std::vector<int> preference = op_preference(program, hint);
  for (std::size_t i = 0; i < preference.size(); ++i) {
    std::vector<int> lanes = tie_order(program, rank, preference[i]);
    if (i < hint.ops.size()) {
      listed_.push_back(std::move(lanes));
    } else {
      rest_.insert(rest_.end(), lanes.begin(), lanes.end());
    }
  }
  if (hint.rule != Hint::Rule::order) return;
  for (const int op : hint.fill) {
    const std::vector<int> lanes = tie_order(program, rank, op);
    fill_.insert(fill_.end(), lanes.begin(), lanes.end());
  }
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
  const std::size_t entries = listed_.size();
  for (std::size_t i = 0; i < entries; ++i) {
    const auto offset = static_cast<std::size_t>(state.round);  // 0 for prefer and none
    if (const int lane = first_of(listed_[(offset + i) % entries]); lane >= 0) return lane;
  }
  return first_of(rest_);
}

void HintPolicy::started(State& state, int lane) const {
  const Hint& hint = program_->dispatch.hint;
  if (hint.rule == Hint::Rule::order) {
    ++state.started[static_cast<std::size_t>(lane - program_->first_lane(rank_))];
  } else if (hint.rule == Hint::Rule::rounds) {
    const int op = at(program_->lanes, lane).op;
    const auto entry = std::find(hint.ops.begin(), hint.ops.end(), op);
    if (entry == hint.ops.end()) {
      if (contains(hint.fill, op)) state.round = 0;
      return;
    }
    const auto next = static_cast<int>(entry - hint.ops.begin()) + 1;
    state.round = next % static_cast<int>(hint.ops.size());
  }
}

}  // namespace ripeline::spec
