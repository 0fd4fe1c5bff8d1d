// The rules about each action and each task: its form, its position, how often it occurs, its order
// at its own rank. Also the rule about the microbatches that a rank holds.
#include "pytorch/rules.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace ripeline::pytorch {

namespace {

std::optional<std::string> why_no_overlap(const ActionCell& cell) {
  if (cell.actions.size() != 2) return "it overlaps a forward and a backward, no more, no less";
  const Action& first = cell.actions[0];
  const Action& second = cell.actions[1];
  if (first.kind != ActionKind::forward ||
      (second.kind != ActionKind::backward && second.kind != ActionKind::backward_input)) {
    return "it overlaps an F, written first, and a B or an I";
  }
  if (first.stage == second.stage && first.microbatch == second.microbatch) {
    return fmt::format("{} needs {}: they cannot overlap", to_string(second), to_string(first));
  }
  return std::nullopt;
}

void check_cell(ScheduleCheck& checking, const ActionCell& cell, CellPosition position) {
  const bool comms = checking.shape().form == ActionForm::compute_comms;
  if (cell.overlap) {
    const auto problem = why_no_overlap(cell);
    if (problem) checking.found("overlap", position, to_string(cell), *problem);
    return;
  }
  if (cell.actions.empty()) {
    // A cell that is not an action has already been reported.
    if (comms && !checking.has_mistake(position)) {
      checking.found("form", position, "", "compute_comms has no blanks; PyTorch refuses them");
    }
    return;
  }
  if (!comms && !is_compute(cell.actions.front().kind)) {
    checking.found("form", position, to_string(cell),
                   "compute_only has computations alone; PyTorch derives the communication");
  }
}

}  // namespace

void check_cells(ScheduleCheck& checking) {
  const auto& rows = checking.table().rows;
  const int ranks = checking.map().ranks;
  if (size_of(rows) != ranks) {
    checking.found(
        "ranks", {std::min(size_of(rows), ranks) + 1, 0}, "",
        fmt::format("{} row{} for {} rank{}; each rank has one, and an empty line counts",
                    rows.size(), rows.size() == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s"));
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      check_cell(checking, rows[r][c], {static_cast<int>(r) + 1, static_cast<int>(c) + 1});
    }
  }
}

void check_places(ScheduleCheck& checking) {
  const CheckShape& shape = checking.shape();
  checking.each_action([&](const Action& action, const ActionCell&, CellPosition position) {
    const std::string task = to_string(action);
    if (action.stage >= shape.map.stages()) {
      checking.found("stage", position, task,
                     fmt::format("there is no stage {}: stages are 0 to {}", action.stage,
                                 shape.map.stages() - 1));
    } else if (shape.map.rank(action.stage) != position.row - 1) {
      checking.found("owner", position, task,
                     fmt::format("stage {} is on rank {} with placement {}; row {} is rank {}",
                                 action.stage, shape.map.rank(action.stage),
                                 name_of(shape.placement), position.row, position.row - 1));
    }
    if (action.microbatch >= shape.microbatches) {
      checking.found("microbatch", position, task,
                     fmt::format("there is no microbatch {}: microbatches are 0 to {}",
                                 action.microbatch, shape.microbatches - 1));
    }
  });
}

namespace {

// Names the actions of the file that need a missing task, and so never start.
std::string what_waits(const ScheduleCheck& checking, const Action& missing) {
  constexpr std::array kKinds = {ActionKind::forward, ActionKind::backward,
                                 ActionKind::backward_input, ActionKind::backward_weight};
  const Action result = result_of(missing);
  std::vector<std::string> waiting;
  for (int stage = missing.stage - 1; stage <= missing.stage + 1; ++stage) {
    for (const ActionKind kind : kKinds) {
      const Action action{kind, stage, missing.microbatch};
      const auto needs = needs_of(action, checking.map().stages());
      if (std::find(needs.begin(), needs.end(), result) == needs.end()) continue;
      const CellPosition* position = checking.find(action);
      if (position == nullptr) continue;
      waiting.push_back(fmt::format("{} ({})", to_string(action), position_text(*position)));
    }
  }
  if (waiting.empty()) return {};
  return fmt::format("; {} wait{} for it", fmt::join(waiting, " and "),
                     waiting.size() == 1 ? "s" : "");
}

void found_missing(ScheduleCheck& checking, const Action& missing, const std::string& message) {
  checking.found("missing", {checking.map().rank(missing.stage) + 1, 0}, to_string(missing),
                 message + what_waits(checking, missing));
}

void check_backward(ScheduleCheck& checking, int stage, int microbatch) {
  const auto find = [&](ActionKind kind) { return checking.find({kind, stage, microbatch}); };
  const auto name = [&](ActionKind kind) { return to_string(Action{kind, stage, microbatch}); };
  const CellPosition* whole = find(ActionKind::backward);
  const CellPosition* input = find(ActionKind::backward_input);
  const CellPosition* weight = find(ActionKind::backward_weight);
  if (whole != nullptr && (input != nullptr || weight != nullptr)) {
    const bool has_input = input != nullptr;
    checking.found("mixed", has_input ? *input : *weight,
                   name(has_input ? ActionKind::backward_input : ActionKind::backward_weight),
                   fmt::format("{} at {} does the whole backward already",
                               name(ActionKind::backward), position_text(*whole)));
    return;
  }
  if (whole != nullptr || (input != nullptr && weight != nullptr)) return;
  const ActionKind kind = input != nullptr    ? ActionKind::backward_weight
                          : weight != nullptr ? ActionKind::backward_input
                                              : ActionKind::backward;
  found_missing(
      checking, {kind, stage, microbatch},
      kind == ActionKind::backward
          ? fmt::format("microbatch {} never runs backward at stage {}", microbatch, stage)
          : fmt::format("{} is there without it",
                        name(kind == ActionKind::backward_weight ? ActionKind::backward_input
                                                                 : ActionKind::backward_weight)));
}

}  // namespace

void check_counts(ScheduleCheck& checking) {
  const CheckShape& shape = checking.shape();
  checking.each_action([&](const Action& action, const ActionCell&, CellPosition position) {
    // The rule `shard` judges how often a stage is gathered.
    if (action.kind == ActionKind::unshard || action.kind == ActionKind::reshard) return;
    if (const CellPosition* first = checking.add(action, position)) {
      checking.found("repeated", position, to_string(action),
                     fmt::format("it is at {} already", position_text(*first)));
    }
  });
  for (int s = 0; s < shape.map.stages(); ++s) {
    for (int m = 0; m < shape.microbatches; ++m) {
      if (checking.report().findings.size() >= kMostFindings) return;
      if (checking.find({ActionKind::forward, s, m}) == nullptr) {
        found_missing(checking, {ActionKind::forward, s, m},
                      fmt::format("microbatch {} never runs forward at stage {}", m, s));
      }
      check_backward(checking, s, m);
    }
  }
}

void check_order(ScheduleCheck& checking) {
  const CheckShape& shape = checking.shape();
  checking.each_action([&](const Action& action, const ActionCell&, CellPosition position) {
    for (Action need : needs_of(action, shape.map.stages())) {
      if (shape.map.rank(need.stage) != position.row - 1) continue;
      if (checking.find(need) == nullptr && need.kind == ActionKind::backward_input) {
        need.kind = ActionKind::backward;
      }
      const CellPosition* where = checking.find(need);
      if (where == nullptr || where->before(position)) continue;
      checking.found("order", position, to_string(action),
                     fmt::format("it needs {}, which the rank does {}", to_string(need),
                                 where->column == position.column
                                     ? "in the same cell"
                                     : fmt::format("later, in column {}", where->column)));
    }
  });
}

std::optional<std::int64_t> rank_room(const CheckOptions& options, int chunks) {
  if (!options.rank_memory) return std::nullopt;
  return options.rank_memory->numerator * chunks / options.rank_memory->denominator;
}

void check_memory(ScheduleCheck& checking) {
  CheckReport& report = checking.report();
  const CheckOptions& options = checking.options();
  const auto stages = static_cast<std::size_t>(checking.map().stages());
  report.rank_peak.assign(static_cast<std::size_t>(checking.map().ranks), 0);
  report.stage_peak.assign(stages, 0);
  std::vector<std::int64_t> rank_held(report.rank_peak.size(), 0);
  std::vector<std::int64_t> stage_held(stages, 0);
  std::vector<std::optional<std::int64_t>> rooms;  // per rank, in activations of stages
  for (int rank = 0; rank < checking.map().ranks; ++rank) {
    rooms.push_back(rank_room(options, report.shape.chunks(rank)));
  }
  const auto exceeds = [&](const auto& limit, std::vector<std::int64_t>& peak, int index,
                           std::int64_t held) {
    const bool first = limit && held > *limit && at(peak, index) <= *limit;
    at(peak, index) = std::max(at(peak, index), held);
    return first;
  };
  checking.each_action([&](const Action& action, const ActionCell&, CellPosition position) {
    const int rank = position.row - 1;
    if (action.kind == ActionKind::backward || action.kind == ActionKind::backward_weight) {
      --at(rank_held, rank);
      --at(stage_held, action.stage);
    }
    if (action.kind != ActionKind::forward) return;
    if (exceeds(at(rooms, rank), report.rank_peak, rank, ++at(rank_held, rank))) {
      const int chunks = report.shape.chunks(rank);
      checking.found(
          "memory", position, to_string(action),
          fmt::format("rank {} then holds {} {}, of at most {}", rank, at(rank_held, rank),
                      chunks == 1 ? "microbatches" : "activations of a stage",
                      chunks == 1
                          ? fmt::format("{}", *at(rooms, rank))
                          : fmt::format("{}, which are {:.6g} microbatches of "
                                        "its {} stages",
                                        *at(rooms, rank), options.rank_memory->value(), chunks)));
    }
    if (exceeds(options.stage_memory, report.stage_peak, action.stage,
                ++at(stage_held, action.stage))) {
      checking.found("memory", position, to_string(action),
                     fmt::format("stage {} then holds {} microbatches, of at most {}", action.stage,
                                 at(stage_held, action.stage), *options.stage_memory));
    }
  });
}

}  // namespace ripeline::pytorch
