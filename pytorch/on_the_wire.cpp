// Judges deadlock, first for the computations alone, then for all sends and receives.
#include "pytorch/on_the_wire.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "pytorch/one_order.h"
#include "pytorch/wired.h"

namespace ripeline::pytorch {

using wire::WireKernels;
using wire::WireLayout;
using wire::WireVerdict;
using wire::WireWait;

namespace {

constexpr std::size_t kMostSteps = 12;  // the number of printed steps of a wait-for cycle

// --- computations: every rank keeps its order, and the communication is derived ---

// The file's action that gives a needed result: `need` itself, or B for an I; else nullopt.
std::optional<Action> find_result(const ScheduleCheck& checking, Action need) {
  if (checking.find(need) != nullptr) return need;
  if (need.kind == ActionKind::backward_input) need.kind = ActionKind::backward;
  return checking.find(need) != nullptr ? std::optional(need) : std::nullopt;
}

// The stuck ranks of a cycle of waits; empty if they wait for tasks that the file lacks.
std::vector<StuckRank> cycle_of(const ScheduleCheck& checking,
                                const std::vector<StuckRank>& stuck) {
  std::vector<const StuckRank*> of_rank(static_cast<std::size_t>(checking.map().ranks));
  for (const StuckRank& s : stuck) at(of_rank, s.rank) = &s;
  std::vector<int> walk(of_rank.size(), -1);  // per rank: where the walk that visited it began
  for (int start = 0; start < size_of(stuck); ++start) {
    std::vector<StuckRank> path;
    const StuckRank* next = &at(stuck, start);
    while (next != nullptr && at(walk, next->rank) < 0) {
      at(walk, next->rank) = start;
      path.push_back(*next);
      next = find_result(checking, next->need) ? at(of_rank, checking.map().rank(next->need.stage))
                                               : nullptr;
    }
    if (next == nullptr || at(walk, next->rank) != start) continue;
    const auto first =
        std::find_if(path.begin(), path.end(), [&](const auto& s) { return s.rank == next->rank; });
    return {first, path.end()};
  }
  return {};
}

std::string cut(std::vector<std::string> steps) {
  if (steps.size() > kMostSteps) {
    const std::size_t more = steps.size() - kMostSteps;
    steps.resize(kMostSteps);
    steps.push_back(fmt::format("and {} more", more));
  }
  return fmt::format("{}", fmt::join(steps, "; "));
}

void report_stuck(ScheduleCheck& checking, const std::vector<StuckRank>& stuck) {
  // The rule `order` has already named the tasks that wait for a later task of their own rank.
  if (checking.has_found("order")) {
    checking.report().not_judged.emplace_back("deadlock, mismatch");
    return;
  }
  const auto cycle = cycle_of(checking, stuck);
  if (cycle.empty()) return;
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const StuckRank& behind = cycle[(i + 1) % cycle.size()];
    const Action need = find_result(checking, cycle[i].need).value_or(cycle[i].need);
    steps.push_back(fmt::format("{} waits for {}, which rank {} does after {}",
                                to_string(cycle[i].action), to_string(need), behind.rank,
                                to_string(behind.action)));
  }
  const CellPosition* place = checking.find(cycle.front().action);
  checking.found("deadlock", place != nullptr ? *place : CellPosition{cycle.front().rank + 1, 0},
                 to_string(cycle.front().action), "wait-for cycle: " + cut(std::move(steps)));
}

// --- sends and receives ---

std::string step_text(const WireOfCells& wired, const WireWait& wait) {
  const auto name = [&](wire::WirePosition p) {
    return at(at(wired.program.ranks, p.rank), p.index).name;
  };
  std::string why;
  switch (wait.why) {
    case WireWait::Why::after:
    case WireWait::Why::stream:
      why = "before it on its rank";
      break;
    case WireWait::Why::communicator:
      why = "before it on the communicator";
      break;
    case WireWait::Why::launch:
      why = "launched before it and not resident";
      break;
    case WireWait::Why::resident:
      why = "still resident";
      break;
    case WireWait::Why::message:
      why = "its send";
      break;
    case WireWait::Why::posted:
      why = "its receive";
      break;
    case WireWait::Why::collective:
      why = "the same collective";
      break;
  }
  return fmt::format("{} waits for {} ({})", name(wait.waiting), name(wait.on), why);
}

void report_wire(ScheduleCheck& checking, const WireOfCells& wired, const WireVerdict& verdict) {
  const auto report = [&](const char* rule, wire::WirePosition position, std::string message) {
    const Action& action = at(at(wired.actions, position.rank), position.index);
    const CellPosition* place = checking.find(action);
    checking.found(rule, place != nullptr ? *place : CellPosition{position.rank + 1, 0},
                   to_string(action), std::move(message));
  };
  switch (verdict.kind) {
    case WireVerdict::Kind::safe:
      return;
    case WireVerdict::Kind::deadlock: {
      std::vector<std::string> steps;
      for (const WireWait& wait : verdict.cycle) steps.push_back(step_text(wired, wait));
      report("deadlock", verdict.cycle.front().waiting, "wait-for cycle: " + cut(std::move(steps)));
      return;
    }
    case WireVerdict::Kind::mismatch:
      report("mismatch", verdict.where.front(), verdict.sentence);
      return;
    case WireVerdict::Kind::unpaired:
      // Without pairs there is nothing to judge; each unpaired action has been reported already.
      checking.report().not_judged.emplace_back("deadlock, mismatch");
      if (!checking.has_found("unpaired")) {
        report("unpaired", verdict.where.front(), verdict.sentence);
      }
      return;
    case WireVerdict::Kind::invalid:
      checking.report().reason = verdict.sentence;
      return;
  }
}

}  // namespace

namespace {

constexpr std::array kLayouts = {WireLayout::group, WireLayout::pair, WireLayout::edge};
constexpr std::array kKernels = {WireKernels::per_stream, WireKernels::launch_order,
                                 WireKernels::serial};

template <class Judge>  // the verdict of a layout and a kernel level
void judge_layouts(ScheduleCheck& checking, const Judge& judge) {
  if (!checking.options().all_layouts) return;
  for (const WireLayout layout : kLayouts) {
    for (const WireKernels kernels : kKernels) {
      checking.report().layouts.push_back({layout, kernels, judge(layout, kernels)});
    }
  }
}

}  // namespace

void check_deadlock(ScheduleCheck& checking) {
  const CheckShape& shape = checking.shape();
  const CheckOptions& options = checking.options();
  const bool derived = shape.form == ActionForm::compute_only;
  if (derived) {
    const auto stuck = stuck_ranks(checking.table(), shape.map);
    if (!stuck.empty()) return report_stuck(checking, stuck);
  }
  if (derived || has_one_order(checking.table(), shape.map)) {
    return judge_layouts(checking, [](auto, auto) { return WireVerdict::Kind::safe; });
  }
  const WireOfCells wire = wired(checking.table(), shape);
  report_wire(checking, wire,
              judge_wire(wire.program, {.layout = options.layout, .kernels = options.kernels}));
  judge_layouts(checking, [&wire](WireLayout layout, WireKernels kernels) {
    return judge_wire(wire.program, {.layout = layout, .kernels = kernels}).kind;
  });
}

}  // namespace ripeline::pytorch
