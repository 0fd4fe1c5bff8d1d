#include "pytorch/check.h"

#include <algorithm>

#include <fmt/format.h>

#include "pytorch/checking.h"
#include "pytorch/messages.h"
#include "pytorch/on_the_wire.h"
#include "pytorch/rules.h"
#include "pytorch/shape.h"

namespace ripeline::pytorch {
namespace {

// The groups of rules, judged in order. A group is skipped after findings of the rules in
// `not_after`, because it would have no meaning or report nothing new. Deadlock is judged for all
// actions that can be paired, even if others are missing.
struct Group {
  void (*ask)(ScheduleCheck&);
  bool only_comms;
  const char* rules;
  std::vector<const char*> not_after;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> kGroups = {
      {check_cells, false, "form, overlap, ranks", {}},
      {check_places, false, "stage, owner, microbatch", {}},
      {check_counts, false, "repeated, missing, mixed", {}},
      {check_order, false, "order", {"cell", "overlap", "stage", "owner"}},
      {check_messages, true, "message, unpaired", {"cell", "stage", "owner"}},
      {check_reduce_and_shard,
       true,
       "reduce, shard",
       {"cell", "overlap", "stage", "owner", "repeated", "missing", "mixed", "order"}},
      {check_deadlock,
       false,
       "deadlock, mismatch",
       {"cell", "form", "overlap", "ranks", "stage", "owner", "message", "repeated"}},
      {check_memory,
       false,
       "memory",
       {"cell", "form", "overlap", "ranks", "stage", "owner", "microbatch", "repeated", "missing",
        "mixed", "order"}},
  };
  return kGroups;
}

std::vector<std::string> assumptions_of(const CheckReport& report, const CheckOptions& options) {
  std::vector<std::string> texts = {
      "All ranks load this file, and every task that starts ends.",
      report.shape.form == ActionForm::compute_only
          ? "Communication is what PyTorch derives on load: each send at once followed by its "
            "receive, in one order for all ranks."
          : "Nothing is added on load: sends, receives and reductions are those of the file."};
  switch (options.layout) {
    case wire::WireLayout::group:
      texts.emplace_back(
          "Layout group: one communicator for all sends and receives of a rank, as "
          "PyTorch's batched ones use.");
      break;
    case wire::WireLayout::pair:
      texts.emplace_back("Layout pair: a communicator for each pair of ranks, both directions.");
      break;
    case wire::WireLayout::edge:
      texts.emplace_back("Layout edge: a communicator for each pair of ranks and direction.");
      break;
  }
  switch (options.kernels) {
    case wire::WireKernels::per_stream:
      texts.emplace_back("Kernels per-stream: all that have been issued can be resident at once.");
      break;
    case wire::WireKernels::launch_order:
      texts.emplace_back("Kernels launch-order: one that waits holds up those issued after it.");
      break;
    case wire::WireKernels::serial:
      texts.emplace_back("Kernels serial: no two are resident together.");
      break;
  }
  texts.emplace_back(
      "A send is a rendezvous with its receive: buffers may hide a deadlock, not "
      "make one.");
  texts.emplace_back("UNSHARD and REDUCE_GRAD have communicators of their own and block nobody.");
  return texts;
}

void ask_groups(ScheduleCheck& checking) {
  CheckReport& report = checking.report();
  const bool comms = report.shape.form == ActionForm::compute_comms;
  for (const Group& group : groups()) {
    if (group.only_comms && !comms) continue;
    if (std::any_of(group.not_after.begin(), group.not_after.end(),
                    [&](const char* rule) { return checking.has_found(rule); })) {
      report.not_judged.emplace_back(group.rules);
    } else {
      group.ask(checking);
    }
  }
}

bool is_first(const CheckFinding& f) { return f.rule == "deadlock" || f.rule == "mismatch"; }

}  // namespace

std::string name_of(ActionForm form) {
  return form == ActionForm::compute_only ? "compute_only" : "compute_comms";
}

std::string position_text(CellPosition position) {
  return fmt::format("row {}, column {}", position.row, position.column);
}

void ScheduleCheck::found(std::string rule, CellPosition position, std::string task,
                          std::string message) {
  ++report_.finding_count;
  rules_.insert(rule);
  const bool kept = report_.findings.size() < kMostFindings || rule == "deadlock";
  if (!kept) return;
  report_.findings.push_back({.rule = std::move(rule),
                              .row = position.row,
                              .column = position.column,
                              .task = std::move(task),
                              .message = std::move(message)});
}

bool ScheduleCheck::has_mistake(CellPosition position) const {
  return std::any_of(report_.findings.begin(), report_.findings.end(),
                     [position](const CheckFinding& finding) {
                       return finding.rule == "cell" && finding.row == position.row &&
                              finding.column == position.column;
                     });
}

const CellPosition* ScheduleCheck::find(const Action& action) const {
  return positions_.find(key_of(action));
}

const CellPosition* ScheduleCheck::add(const Action& action, CellPosition position) {
  const auto [at, fresh] = positions_.emplace(key_of(action), position);
  return fresh ? nullptr : at;
}

spec::Result<CheckReport> check(const ReadActions& read, const CheckOptions& options) {
  spec::Result<CheckShape> shape = shape_of(read.table, options);
  if (!shape.ok()) return shape.errors();
  CheckReport report;
  report.shape = std::move(shape).value();
  ScheduleCheck checking(read.table, options, report);
  for (const CellMistake& mistake : read.mistakes) {
    checking.found(mistake.rule, {mistake.row, mistake.column}, mistake.text, mistake.message);
  }
  report.finding_count = read.mistake_count;
  ask_groups(checking);
  std::stable_partition(report.findings.begin(), report.findings.end(), is_first);
  report.assumptions = assumptions_of(report, options);
  report.verdict = report.finding_count > 0 ? verify::Outcome::refuted
                   : report.reason.empty()  ? verify::Outcome::proved
                                            : verify::Outcome::unknown;
  return report;
}

}  // namespace ripeline::pytorch
