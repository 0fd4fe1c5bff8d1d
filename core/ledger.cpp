#include "core/ledger.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/print.h"

namespace ripeline::core {

namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

}  // namespace

Ledger::Ledger(const ProgramFacts& facts, std::optional<int> rank) : facts_(facts) {
  const LaneSpan lanes =
      rank ? facts.lanes_of(*rank) : LaneSpan{0, static_cast<LaneId>(facts.lanes.size())};
  first_lane_ = lanes.first;
  for (int id = 0; id < static_cast<int>(facts.pools.size()); ++id) {
    if (!rank || facts.pools[static_cast<std::size_t>(id)].rank == *rank) {
      pools_.push_back({.id = id});
    }
  }
  const auto by_lane = [](const UseFacts& use, LaneId lane) { return use.lane < lane; };
  const auto first = std::lower_bound(facts.uses.begin(), facts.uses.end(), lanes.first, by_lane);
  const auto end = std::lower_bound(first, facts.uses.end(), lanes.end, by_lane);
  first_use_.assign(row(lanes.end) + 1, 0);
  uses_.reserve(static_cast<std::size_t>(end - first));
  for (auto use = first; use != end; ++use) {
    const std::int64_t bound = facts.pools[static_cast<std::size_t>(use->pool)].bound;
    const std::optional<Room> rule = facts.room(*use);
    const std::int64_t room = rule ? rule->most_held_after() : kNoLimit;
    uses_.push_back({.pool = static_cast<std::size_t>(find(use->pool) - pools_.data()),
                     .acquires = use->acquires,
                     .releases = use->releases,
                     .most = bound < 0 ? room : std::min(room, bound),
                     .room = room});
    ++first_use_[row(use->lane) + 1];
  }
  for (std::size_t i = 1; i < first_use_.size(); ++i) first_use_[i] += first_use_[i - 1];
}

const Ledger::Pool* Ledger::find(int pool) const {
  const auto found = std::lower_bound(pools_.begin(), pools_.end(), pool,
                                      [](const Pool& p, int id) { return p.id < id; });
  return found != pools_.end() && found->id == pool ? &*found : nullptr;
}

std::int64_t Ledger::peak(int pool) const {
  const Pool* found = find(pool);
  return found == nullptr ? 0 : found->peak;
}

std::int64_t Ledger::held(int pool) const {
  const Pool* found = find(pool);
  return found == nullptr ? 0 : found->held;
}

void Ledger::begin_step() {
  for (Pool& pool : pools_) pool.held = 0;
}

bool Ledger::has_room(LaneId lane) const {
  const auto first = uses_.begin() + static_cast<std::ptrdiff_t>(first_use_[row(lane)]);
  const auto end = uses_.begin() + static_cast<std::ptrdiff_t>(first_use_[row(lane) + 1]);
  return std::all_of(first, end, [this](const Use& use) {
    return use.acquires == 0 || pools_[use.pool].held + use.acquires <= use.room;
  });
}

Status Ledger::too_much(Task task, const Use& use) const {
  const Pool& pool = pools_[use.pool];
  return {StatusCode::breach, "starting " + task_name(facts_, task) + " makes " +
                                  pool_name(facts_, pool.id) + " " + std::to_string(pool.held) +
                                  ", and at most " + std::to_string(use.most) +
                                  " was proved or has room"};
}

Status Ledger::not_held(Task task, const Pool& pool) const {
  return {StatusCode::breach, "the end of " + task_name(facts_, task) + " releases more of " +
                                  pool_name(facts_, pool.id) + " than is held, by " +
                                  std::to_string(-pool.held)};
}

}  // namespace ripeline::core
