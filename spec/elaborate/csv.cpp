#include "spec/elaborate/csv.h"

#include <algorithm>

#include <fmt/format.h>

#include "pytorch/csv/actions.h"

namespace ripeline::spec::elaboration {
namespace {

class CsvOrder {
 public:
  CsvOrder(Work& work, Order& order) : work_(work), order_(order) {}

  void read() {
    if (!work_.options.read_file) return unreadable("nothing here reads files");
    const Result<std::string> bytes = work_.options.read_file(*order_.file);
    if (!bytes.ok()) return unreadable(bytes.errors().front().message);
    const pytorch::ReadActions actions = pytorch::read_actions(bytes.value());
    if (!actions.mistakes.empty()) {
      const pytorch::CellMistake& first = actions.mistakes.front();
      error("csv-cell", placed(first.row, first.column, first.message),
            "`ripeline check` lists all that is wrong in such a file");
      return;
    }
    const int rows = static_cast<int>(actions.table.rows.size());
    if (rows != work_.program.ranks) {
      error("csv-rows",
            fmt::format("'{}' has {} row{}, and the program {} rank{}", *order_.file, rows,
                        rows == 1 ? "" : "s", work_.program.ranks,
                        work_.program.ranks == 1 ? "" : "s"),
            "a file has one row for each rank, from rank 0 on");
      return;
    }
    for (int rank = 0; rank < rows && !work_.failed(); ++rank) {
      order_.rows.emplace_back();
      for (const pytorch::ActionCell& cell : at(actions.table.rows, rank)) read_cell(cell, rank);
    }
    if (!work_.failed()) check_count();
  }

 private:
  void unreadable(const std::string& why) {
    error("csv-unreadable", fmt::format("'{}' cannot be read: {}", *order_.file, why),
          "the path is taken from the folder of the program");
  }

  void read_cell(const pytorch::ActionCell& cell, int rank) {
    std::vector<int> lanes;
    for (const pytorch::Action& action : cell.actions) {
      if (!pytorch::is_compute(action.kind)) {
        error(
            "csv-action",
            placed(cell.row, cell.column, fmt::format("{} is no task of an op", to_string(action))),
            "an order lists F, I, W and B alone; communication follows from what the ops need");
        return;
      }
      lanes.push_back(lane_of(action, cell, rank));
      if (lanes.back() < 0) return;
    }
    if (cell.overlap && !is_pair(lanes)) {
      const bool could = lanes.size() == 2 && op_name(lanes[0]) != op_name(lanes[1]);
      error("csv-no-pair",
            placed(cell.row, cell.column,
                   fmt::format("{} overlaps tasks that exclude each other", to_string(cell))),
            could ? fmt::format("write `pair {}, {};`", op_name(lanes[0]), op_name(lanes[1]))
                  : "a cell overlaps two tasks, of two ops that are a pair");
      return;
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) read_task(cell.actions[i], lanes[i], cell);
  }

  bool is_pair(const std::vector<int>& lanes) const {
    return lanes.size() == 2 && work_.program.pair_of(lanes[0], lanes[1]) != nullptr;
  }

  const std::string& op_name(int lane) const {
    const Program& program = work_.program;
    return at(program.ops, at(program.lanes, lane).op).name;
  }

  void read_task(const pytorch::Action& action, int lane, const pytorch::ActionCell& cell) {
    const Share& share = at(work_.program.lanes, lane).share;
    if (!share.has(action.microbatch)) {
      error("csv-not-its-share",
            placed(cell.row, cell.column,
                   fmt::format("stage {} has no {}", action.stage, to_string(action))),
            "its `on m where` leaves this microbatch out");
      return;
    }
    order_.rows.back().push_back({lane, share.below(action.microbatch)});
  }

  int lane_of(const pytorch::Action& action, const pytorch::ActionCell& cell, int rank) {
    const Program& program = work_.program;
    const std::string text = to_string(action);
    if (action.stage >= static_cast<int>(program.stages.size()) ||
        at(program.stages, action.stage).rank != rank) {
      error("csv-other-rank",
            placed(cell.row, cell.column,
                   fmt::format("stage {} of {} is not on rank {}", action.stage, text, rank)),
            "row by row, a file lists what is placed on each rank");
      return -1;
    }
    const OpKind kind = kind_of(action.kind);
    int lane = -1;
    int found = 0;
    for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
      const int here = program.lane_of(op, action.stage);
      if (here < 0 || at(program.ops, op).kind != kind) continue;
      lane = here;
      ++found;
    }
    if (found == 1) return lane;
    error("csv-no-such-op",
          placed(cell.row, cell.column,
                 fmt::format("{} op{} at stage {} {} of the kind that {} names",
                             found == 0 ? "no" : "more than one", found == 0 ? "" : "s",
                             action.stage, found == 0 ? "is" : "are", text)),
          "F is `forward`, B `backward`, I `backward input`, W `backward weight`");
    return -1;
  }

  static OpKind kind_of(pytorch::ActionKind kind) {
    if (kind == pytorch::ActionKind::forward) return OpKind::forward;
    if (kind == pytorch::ActionKind::backward) return OpKind::backward;
    if (kind == pytorch::ActionKind::backward_input) return OpKind::backward_input;
    return OpKind::backward_weight;
  }

  void check_count() {
    int count = 0;
    for (const auto& row : order_.rows) {
      for (const Task& task : row) {
        count = std::max(count, work_.program.microbatch_of(task.lane, task.microbatch) + 1);
      }
    }
    const MicrobatchRange& range = work_.program.microbatches;
    if (range.min == range.max && count > 0 && is_alike(count, range.min)) return;
    error("csv-other-count",
          count == 0 ? fmt::format("'{}' lists no task", *order_.file)
                     : fmt::format("'{}' is for {} microbatch{}, and the program is not for this "
                                   "count alone",
                                   *order_.file, count, count == 1 ? "" : "es"),
          count == 0
              ? "a file lists every task of each rank"
              : fmt::format("write `microbatches {};` or give -D microbatches={}", count, count));
  }

  // Whether each lane has as many tasks with `count` microbatches as with `other`.
  bool is_alike(int count, int other) const {
    const int lanes = static_cast<int>(work_.program.lanes.size());
    for (int lane = 0; lane < lanes; ++lane) {
      if (work_.program.tasks_of(lane, count) != work_.program.tasks_of(lane, other)) return false;
    }
    return true;
  }

  std::string placed(int row, int column, const std::string& message) const {
    if (column == 0) return fmt::format("'{}': {}", *order_.file, message);
    return fmt::format("'{}', row {}, column {}: {}", *order_.file, row, column, message);
  }

  void error(std::string id, std::string message, std::string hint) {
    work_.error(std::move(id), std::move(message), std::move(hint), order_.span);
  }

  Work& work_;
  Order& order_;
};

}  // namespace

void read_orders(Work& work) {
  const Dispatch& dispatch = work.program.dispatch;
  const int used = dispatch.in_order ? dispatch.order : dispatch.hint.order;
  if (used < 0) return;
  Order& order = work.program.orders[static_cast<std::size_t>(used)];
  if (order.file) CsvOrder(work, order).read();
}

}  // namespace ripeline::spec::elaboration
