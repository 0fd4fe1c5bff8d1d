#include "optimise/part_bounds.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "optimise/solver/rooms.h"

namespace ripeline::optimise {
namespace {

// Limits on a part's tasks, tried in turn. With a quarter more, a solver takes five times as long.
constexpr std::array kTasks = {480, 576, 624, 672, 768};
// A part must be long enough to use all slots of the memory this many times, since the formula
// `cycle` already gives the times of the first turns of the slots.
constexpr int kLeastTurns = 3;
constexpr int kMostFailures = 3;

// Whether every other task of the microbatch needs `task`, directly or through others.
bool is_needed_by_all(const Model& one, int task) {
  for (int other = 0; other < one.tasks(); ++other) {
    if (other != task && !needs_between(one, task, other)) return false;
  }
  return true;
}

}  // namespace

std::optional<PartBounds> PartBounds::of(const Model& one, int microbatches) {
  if (!one.even || one.left_out || one.tasks() == 0) return std::nullopt;
  const auto entry =
      static_cast<int>(std::min_element(one.heads.begin(), one.heads.end()) - one.heads.begin());
  if (!is_needed_by_all(one, entry)) return std::nullopt;
  PartBounds bounds;
  bounds.entry_ = at(one.lane_of, entry);
  bounds.microbatches_ = microbatches;
  bounds.entry_takes_ = at(one.takes, entry);
  bounds.tasks_of_each_ = one.tasks();
  for (const int p : at(one.machines, at(one.lanes, bounds.entry_).machine).pools) {
    const Model::Pool& pool = at(one.pools, p);
    const std::int64_t acquires = at(pool.uses, bounds.entry_).acquires;
    if (acquires == 0) continue;
    const std::int64_t slots = std::clamp<std::int64_t>(pool.capacity / acquires, 1, microbatches);
    bounds.slots_ = std::max(bounds.slots_, static_cast<int>(slots));
  }
  if (kTasks.back() / bounds.tasks_of_each_ < kLeastTurns * bounds.slots_) return std::nullopt;
  bounds.starts_.resize(static_cast<std::size_t>(microbatches) + 1);
  bounds.lasts_ = bounds.starts_;
  return bounds;
}

bool PartBounds::are_alike(const Model& shorter, const Model& whole) {
  if (shorter.lanes.size() != whole.lanes.size() || shorter.pools.size() != whole.pools.size()) {
    return false;
  }
  for (std::size_t l = 0; l < whole.lanes.size(); ++l) {
    const int task = shorter.lanes[l].first;
    const int other = whole.lanes[l].first;
    const auto needs = shorter.needs_of(task);
    const auto same_need = [&](const Model::Arc& a, const Model::Arc& b) {
      return at(shorter.lane_of, a.task) == at(whole.lane_of, b.task) && a.lag == b.lag;
    };
    if (at(shorter.takes, task) != at(whole.takes, other) ||
        !std::equal(needs.begin(), needs.end(), whole.needs_of(other).begin(),
                    whole.needs_of(other).end(), same_need)) {
      return false;
    }
  }
  return std::equal(shorter.pools.begin(), shorter.pools.end(), whole.pools.begin());
}

// Lengths of parts with at most `tasks` tasks each. The last part is as long as possible, since
// bounds grow faster than lengths. There are two ways to split the rest, and only the bounds show
// which is better. First way: one part is a multiple of the memory's slots, since its bound is then
// best, and the others are equally long. Second way: all parts but one are as long as possible.
PartBounds::Lengths PartBounds::lengths(int tasks) const {
  const int most = std::max(1, tasks / tasks_of_each_);
  if (most >= microbatches_) return {};
  int last = most;
  const auto is_too_hard = [&](const Solved& part) { return !part.is_optimum && !part.is_open(); };
  if (is_too_hard(at(lasts_, last))) {
    while (last > 1 && !at(lasts_, last).is_optimum) --last;
  }
  const int rest = microbatches_ - last;
  const int parts = (rest + most - 1) / most;
  if (parts == 1) return {.last = last, .others = {rest}};
  const int least = rest - (parts - 1) * most;
  const int turns = std::min((least + slots_ - 1) / slots_ * slots_, most);
  const int each = (rest - turns) / (parts - 1);
  const int one = rest - (parts - 1) * each;
  if (one > most) return {.last = last, .others = {least, most}};
  return {.last = last, .others = {one, each, least, most}};
}

std::optional<PartBounds::Part> PartBounds::next() const {
  if (failures_ >= kMostFailures) return std::nullopt;
  for (const int tasks : kTasks) {
    const Lengths of = lengths(tasks);
    if (of.last == 0) break;
    // Each part gets a short attempt before any part gets a longer one. The first way's parts and
    // the last part are tried before the second way's parts.
    std::optional<Part> first;
    const auto consider = [&first](const Solved& known, int length, bool is_last) {
      if (!known.is_open() || (first && first->attempt <= known.attempts)) return;
      first = Part{length, is_last, known.attempts};
    };
    for (std::size_t i = 0; i < of.others.size(); ++i) {
      if (i == kOfOneWay) consider(at(lasts_, of.last), of.last, true);
      const int length = of.others[i];
      // The second way may be useless, so its parts get one attempt less.
      const bool is_worth = i < kOfOneWay || at(starts_, length).attempts < kAttempts - 1;
      if (length > 0 && is_worth) consider(at(starts_, length), length, false);
    }
    if (first) return first;
  }
  return std::nullopt;
}

void PartBounds::set(const Part& part, Time bound, bool is_optimum) {
  Solved& known = at(part.is_last ? lasts_ : starts_, part.microbatches);
  known.bound = std::max(known.bound, bound);
  known.is_optimum = is_optimum;
  ++known.attempts;
  if (!is_optimum && !known.is_open()) ++failures_;
  add_up();
}

void PartBounds::add_up() {
  std::vector<int> known;
  for (int k = 1; k < microbatches_; ++k) {
    if (at(starts_, k).bound > 0) known.push_back(k);
  }
  std::vector<Time> starts(starts_.size(), 0);
  for (int m = 1; m < microbatches_; ++m) {
    at(starts, m) = at(starts, m - 1) + entry_takes_;
    for (const int k : known) {
      if (k > m) break;
      at(starts, m) = std::max(at(starts, m), at(starts_, k).bound + at(starts, m - k));
    }
  }
  for (int last = 1; last < microbatches_; ++last) {
    const Time makespan = at(lasts_, last).bound;
    if (makespan > 0) bound_ = std::max(bound_, at(starts, microbatches_ - last) + makespan);
  }
}

}  // namespace ripeline::optimise
