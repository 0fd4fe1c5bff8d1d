#include "verify/states/hunt.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "verify/states/interleave.h"

namespace ripeline::verify {

using spec::Machine;
using spec::Program;
using Chooser = spec::Machine::Chooser;

namespace {

// With more tasks than this, no run is searched for, since visiting a single state takes long.
constexpr std::int64_t kMostTasks = 200'000;
constexpr int kTargets = 6;
constexpr std::size_t kStatesPerTarget = 5'000;
constexpr int kWalks = 64;
// An exhaustive search may use 1 / kShare of the remaining budget, so that one count does not use
// all. It may always use kEnough, or half if less, which settles most counts of small programs.
constexpr std::uint64_t kShare = 8;
constexpr std::uint64_t kEnough = 250'000;
// A search of so many states takes less time than a question to a solver.
constexpr std::uint64_t kFew = 1'000;

Explored<Task> explore_within(std::uint64_t most, const Machine& machine, Chooser chooser,
                              const Goal& goal, bool counts_decide, Budget& budget) {
  BudgetShare share(budget, std::min(most, budget.left / 2));
  return Search(machine, chooser, goal, counts_decide, share.budget()).explore();
}

std::uint64_t share_of(const Budget& budget) { return std::max(budget.left / kShare, kEnough); }

// Searches event by event, since tasks of one rank may overlap, and so hold more at a time.
HuntResult hunt_interleaved(const Machine& machine, const Goal& goal, Budget& budget) {
  BudgetShare half(budget, budget.left / 2);
  BudgetShare other_half(budget, budget.left / 2);
  const Explored<spec::Event> own = interleave(machine, Chooser::dispatch, goal, half.budget());
  if (own.way) return {HuntResult::What::refuted, *own.way, false};
  Explored<spec::Event> any;
  if (own.complete) any = interleave(machine, Chooser::any, goal, other_half.budget());
  if (any.complete) return {HuntResult::What::safe, {}, true};
  if (any.way) return {HuntResult::What::others, *any.way, own.complete};
  return {HuntResult::What::open, {}, own.complete};
}

}  // namespace

std::optional<HuntResult> hunt_few(const Program& program, int microbatches, const Goal& goal,
                                   bool counts_decide, Budget& budget) {
  const auto tasks = static_cast<std::int64_t>(program.lanes.size()) * microbatches;
  if (tasks > static_cast<std::int64_t>(kFew)) return std::nullopt;
  const Machine machine(program, microbatches);
  const auto own = explore_within(kFew, machine, Chooser::dispatch, goal, counts_decide, budget);
  if (own.way) {
    const Search search(machine, Chooser::dispatch, goal, counts_decide, budget);
    auto events = search.events_of(*own.way);
    if (!events) return std::nullopt;
    return HuntResult{HuntResult::What::refuted, std::move(*events), false};
  }
  if (!own.complete || (!goal.is_stuck() && runs_side_by_side(program))) return std::nullopt;
  const auto any = explore_within(kFew, machine, Chooser::any, goal, counts_decide, budget);
  if (!any.complete) return std::nullopt;
  return HuntResult{HuntResult::What::safe, {}, true};
}

HuntResult hunt(const Program& program, int microbatches, const Goal& goal, bool counts_decide,
                const std::function<std::optional<Target>()>& next_target, Budget& budget) {
  if (static_cast<std::int64_t>(program.lanes.size()) * microbatches > kMostTasks) return {};
  const Machine machine(program, microbatches);
  Search dispatch(machine, Chooser::dispatch, goal, counts_decide, budget);
  Search any(machine, Chooser::any, goal, counts_decide, budget);
  if (auto few = hunt_few(program, microbatches, goal, counts_decide, budget)) return *few;
  std::optional<std::vector<spec::Event>> others;
  // If counts decide, a state sticks for any order of microbatches, so one order is enough.
  std::vector<Search::Microbatches> ways = {Search::Microbatches::low};
  if (!counts_decide) ways.push_back(Search::Microbatches::high);
  for (int i = 0; i < kTargets; ++i) {
    const std::optional<Target> target = next_target();
    if (!target) break;
    for (const Search::Microbatches first : ways) {
      if (const auto run = dispatch.towards(*target, first, kStatesPerTarget)) {
        if (auto events = dispatch.events_of(dispatch.shortened(*run))) {
          return {HuntResult::What::refuted, *events, false};
        }
      }
      if (others) continue;
      if (const auto run = any.towards(*target, first, kStatesPerTarget)) {
        others = any.events_of(*run);
      }
    }
  }
  if (const auto run = dispatch.walk(kWalks)) {
    if (auto events = dispatch.events_of(dispatch.shortened(*run))) {
      return {HuntResult::What::refuted, *events, false};
    }
  }
  if (!goal.is_stuck() && runs_side_by_side(program)) {
    return hunt_interleaved(machine, goal, budget);
  }
  if (!others && !counts_decide) {
    if (const auto run = any.walk(kWalks)) others = any.events_of(*run);
  }
  if (!others) {
    const auto explored =
        explore_within(share_of(budget), machine, Chooser::any, goal, counts_decide, budget);
    if (explored.complete) return {HuntResult::What::safe, {}, true};
    if (explored.way) others = any.events_of(*explored.way);
  }
  const auto explored =
      explore_within(share_of(budget), machine, Chooser::dispatch, goal, counts_decide, budget);
  if (explored.way) {
    if (auto events = dispatch.events_of(*explored.way)) {
      return {HuntResult::What::refuted, *events, false};
    }
  }
  const bool dispatch_is_safe = explored.complete && !runs_side_by_side(program);
  if (others) return {HuntResult::What::others, *others, dispatch_is_safe};
  return {HuntResult::What::open, {}, dispatch_is_safe};
}

}  // namespace ripeline::verify
