// repair(): keeps all parts of a table that can be kept, in their order, and derives the rest
// again. It never invents tasks, so a table that lacks a task cannot be repaired.
#include "pytorch/fix.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/vocabulary/plural.h"
#include "pytorch/checking.h"
#include "pytorch/fewest_moves.h"

namespace ripeline::pytorch {

namespace {

bool has_rule(const CheckReport& report, const std::string& rule) {
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [&rule](const CheckFinding& f) { return f.rule == rule; });
}

spec::Diagnostic no_repair(std::string why) {
  return {.id = "check-no-repair", .message = std::move(why), .hint = {}, .span = {}};
}

std::vector<std::int64_t> peaks_of(const ActionTable& table) {
  std::vector<std::int64_t> peaks;
  for (const auto& row : table.rows) {
    std::vector<const ActionCell*> cells;
    for (const ActionCell& cell : row) cells.push_back(&cell);
    peaks.push_back(peak_of(cells).all);
  }
  return peaks;
}

class ScheduleRepair {
 public:
  ScheduleRepair(const ReadActions& read, const CheckReport& report, const CheckOptions& options)
      : shape_(report.shape), report_(report), options_(options), table_(read.table) {}

  spec::Result<Repair> run() {
    if (auto read = check_readable(); !read.ok()) return read.errors();
    drop_what_is_derived();
    split_overlaps();
    drop_repeats();
    renumber();
    swap_rows();
    if (auto ordered = order_and_communicate(); !ordered.ok()) return ordered.errors();
    return Repair{std::move(table_), std::move(changes_), std::move(peak_before_), {}};
  }

 private:
  void did(std::string change) { changes_.push_back(std::move(change)); }

  // Fails if a cell cannot be read, since a task would be lost.
  spec::Result<void> check_readable() {
    for (const CheckFinding& f : report_.findings) {
      if (f.rule == "cell") {
        return no_repair(fmt::format("row {}, column {}: what '{}' means is not known", f.row,
                                     f.column, f.task));
      }
      if (f.rule != "file") continue;
      did(f.column == 0 ? "cells are separated by commas" : "the byte order mark is left out");
    }
    if (has_rule(report_, "naming")) did("older naming: B is written I, and BW is written B");
    return {};
  }

  void drop_what_is_derived() {
    std::size_t blanks = 0;
    std::size_t others = 0;
    for (auto& row : table_.rows) {
      for (const ActionCell& cell : row) {
        if (cell.actions.empty()) ++blanks;
        if (!cell.actions.empty() && !is_compute(cell.actions.front().kind)) ++others;
        const ActionKind kind =
            cell.actions.empty() ? ActionKind::forward : cell.actions.front().kind;
        sharded_ = sharded_ || kind == ActionKind::unshard || kind == ActionKind::reshard;
      }
    }
    table_ = computations_of(table_);
    if (blanks > 0) did(plural(blanks, "blank") + " left out");
    if (others > 0 && shape_.form == ActionForm::compute_only) {
      did(fmt::format("{} that PyTorch derives left out", plural(others, "action")));
    }
    while (size_of(table_.rows) > shape_.map.ranks && table_.rows.back().empty()) {
      table_.rows.pop_back();
      if (!dropped_rows_) did("empty rows at the end left out");
      dropped_rows_ = true;
    }
  }

  // Puts actions that must not overlap into cells of their own, in the order as written.
  void split_overlaps() {
    if (!has_rule(report_, "overlap")) return;
    for (auto& row : table_.rows) {
      std::vector<ActionCell> cells;
      for (ActionCell& cell : row) {
        const bool wrong = std::any_of(
            report_.findings.begin(), report_.findings.end(), [&cell](const CheckFinding& f) {
              return f.rule == "overlap" && f.row == cell.row && f.column == cell.column;
            });
        if (!wrong) {
          cells.push_back(std::move(cell));
          continue;
        }
        did(fmt::format("row {}, column {}: {} split into its actions", cell.row, cell.column,
                        to_string(cell)));
        for (const Action& action : cell.actions) {
          cells.push_back(
              {.actions = {action}, .overlap = false, .row = cell.row, .column = cell.column});
        }
      }
      row = std::move(cells);
    }
  }

  void drop_repeats() {
    std::set<std::tuple<ActionKind, int, int>> seen;
    for (auto& row : table_.rows) {
      std::erase_if(row, [&](const ActionCell& cell) {
        bool fresh = false;
        for (const Action& a : cell.actions) {
          fresh = seen.insert({a.kind, a.stage, a.microbatch}).second || fresh;
        }
        if (!fresh) {
          did(fmt::format("row {}, column {}: a second {} left out", cell.row, cell.column,
                          to_string(cell)));
        }
        return !fresh;
      });
    }
  }

  // Renumbers microbatches from 0: 5 and 7 become 0 and 1, if every stage runs exactly these two.
  void renumber() {
    std::map<int, std::set<int>> ids;
    std::set<int> all;
    each([&](Action& a) {
      ids[a.stage].insert(a.microbatch);
      all.insert(a.microbatch);
    });
    const bool same = std::all_of(ids.begin(), ids.end(),
                                  [&all](const auto& stage) { return stage.second == all; });
    if (all.empty() || !same || static_cast<int>(all.size()) != shape_.microbatches ||
        *all.rbegin() == shape_.microbatches - 1) {
      return;
    }
    std::map<int, int> number;
    for (const int id : all) number.emplace(id, static_cast<int>(number.size()));
    each([&](Action& a) { a.microbatch = number.at(a.microbatch); });
    did(fmt::format("microbatches renumbered 0 to {}", shape_.microbatches - 1));
  }

  template <class Visit>
  void each(const Visit& visit) {
    for (auto& row : table_.rows) {
      for (ActionCell& cell : row) {
        for (Action& action : cell.actions) visit(action);
      }
    }
  }

  // If each row has the actions of one rank, all different, puts each at the position of its rank.
  void swap_rows() {
    if (!has_rule(report_, "owner") || size_of(table_.rows) != shape_.map.ranks) return;
    std::vector<std::vector<ActionCell>> rows(table_.rows.size());
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      std::set<int> owners;
      for (const ActionCell& cell : table_.rows[r]) {
        for (const Action& a : cell.actions) {
          owners.insert(a.stage < shape_.map.stages() ? shape_.map.rank(a.stage) : -1);
        }
      }
      if (owners.size() != 1 || *owners.begin() < 0 || !at(rows, *owners.begin()).empty()) return;
      at(rows, *owners.begin()) = table_.rows[r];
      if (*owners.begin() != static_cast<int>(r)) {
        did(fmt::format("row {} moved to row {}, that of its rank", r + 1, *owners.begin() + 1));
      }
    }
    table_.rows = std::move(rows);
  }

  // True if all stages of the table exist and each action is in its rank's row.
  bool placed() {
    if (size_of(table_.rows) != shape_.map.ranks) return false;
    for (int r = 0; r < shape_.map.ranks; ++r) {
      for (const ActionCell& cell : at(table_.rows, r)) {
        for (const Action& a : cell.actions) {
          if (a.stage >= shape_.map.stages() || shape_.map.rank(a.stage) != r) return false;
        }
      }
    }
    return true;
  }

  spec::Result<void> order_and_communicate() {
    if (!placed()) return no_repair("stages are in rows of ranks that do not own them");
    peak_before_ = peaks_of(table_);
    // Each rank has the same number of stages, so rank 0 stands for all.
    const std::optional<std::int64_t> room = rank_room(options_, shape_.chunks(0));
    const MovedOrder ordered =
        with_fewest_moves(table_, shape_.map, [this, room](const RowPeak& peak) {
          return peak.all <= room.value_or(peak.all) &&
                 peak.stage <= options_.stage_memory.value_or(peak.stage);
        });
    if (!ordered.stuck.empty()) {
      const StuckRank& stuck = ordered.stuck.front();
      Action whole = stuck.need;  // for a backward, B or I
      whole.kind = ActionKind::backward;
      const bool either = stuck.need.kind == ActionKind::backward_input &&
                          stuck.action.kind != ActionKind::backward_weight;
      return no_repair(fmt::format("{} needs {}{}, which is nowhere to be had",
                                   to_string(stuck.action), either ? to_string(whole) + " or " : "",
                                   to_string(stuck.need)));
    }
    for (const Move& move : ordered.moves) {
      did(fmt::format("row {}: {} moved from position {} to {}", move.row, to_string(move.cell),
                      move.from, move.to));
    }
    if (!ordered.moves.empty()) {
      did(fmt::format("{} moved{}", plural(ordered.moves.size(), "cell"),
                      ordered.fewest ? ", the fewest that do" : "; fewer may do"));
    }
    table_ = ordered.table;
    if (shape_.form == ActionForm::compute_only) return {};
    table_ = as_loaded(table_, shape_.map, shape_.microbatches,
                       {.shards = sharded_, .reduce = options_.reduce})
                 .table;
    did(fmt::format("sends, receives{}{} derived again, as PyTorch derives them",
                    options_.reduce ? ", REDUCE_GRAD" : "",
                    sharded_ ? ", UNSHARD and RESHARD" : ""));
    return {};
  }

  const CheckShape& shape_;
  const CheckReport& report_;
  const CheckOptions& options_;
  ActionTable table_;
  bool sharded_ = false;
  bool dropped_rows_ = false;
  std::vector<std::string> changes_;
  std::vector<std::int64_t> peak_before_;
};

}  // namespace

std::string repair_text(const Repair& repair) {
  std::string text;
  for (const std::string& change : repair.changes) text += "  " + change + "\n";
  return text + fmt::format("  peak activations: {} before, {} now\n",
                            fmt::join(repair.peak_before, " "), fmt::join(repair.rank_peak, " "));
}

spec::Result<Repair> repair(const ReadActions& read, const CheckReport& report,
                            const CheckOptions& options) {
  spec::Result<Repair> result = ScheduleRepair(read, report, options).run();
  if (!result.ok()) return result;
  // The repaired table is judged with the shape with which the file was judged.
  CheckOptions same = options;
  same.ranks = report.shape.map.ranks;
  same.stages = report.shape.map.stages();
  same.microbatches = report.shape.microbatches;
  same.placement = report.shape.placement;
  same.form = report.shape.form;
  const auto again = check(read_actions(write_actions(result.value().table)), same);
  if (!again.ok()) return no_repair(again.errors().front().message);
  const CheckReport& left = again.value();
  if (left.verdict == verify::Outcome::proved) {
    Repair repaired = std::move(result).value();
    repaired.rank_peak = left.rank_peak;
    return repaired;
  }
  if (left.findings.empty()) return no_repair(left.reason);
  return no_repair(fmt::format("what would be left: {} {}", left.findings.front().task,
                               left.findings.front().message));
}

}  // namespace ripeline::pytorch
