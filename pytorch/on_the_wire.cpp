// Deadlock: of the computations alone, then of all that is sent and received.
#include "pytorch/on_the_wire.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace ripeline::verify {

using spec::Action;
using spec::ActionCell;
using spec::ActionKind;
using spec::ActionTable;

namespace {

constexpr std::size_t kMostSteps = 12;  // of a wait-for cycle that is printed

// --- computations: every rank keeps its order, and the communication is derived ---

// What the file does of it: I, or B for it.
std::optional<Action> find_result(const ScheduleCheck& checking, Action need) {
  if (checking.find(need) != nullptr) return need;
  if (need.kind == ActionKind::backward_input) need.kind = ActionKind::backward;
  return checking.find(need) != nullptr ? std::optional(need) : std::nullopt;
}

// From stuck rank to stuck rank, until one comes again. Empty if they wait for what is nowhere.
std::vector<spec::StuckRank> cycle_of(const ScheduleCheck& checking,
                                      const std::vector<spec::StuckRank>& stuck) {
  std::vector<const spec::StuckRank*> of_rank(static_cast<std::size_t>(checking.map().ranks));
  for (const spec::StuckRank& s : stuck) at(of_rank, s.rank) = &s;
  std::vector<int> walk(of_rank.size(), -1);  // per rank: the start of the walk that came by
  for (int start = 0; start < size_of(stuck); ++start) {
    std::vector<spec::StuckRank> path;
    const spec::StuckRank* next = &at(stuck, start);
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

void report_stuck(ScheduleCheck& checking, const std::vector<spec::StuckRank>& stuck) {
  // Its own later task is for `order` to name.
  if (checking.has_found("order")) {
    checking.report().not_judged.emplace_back("deadlock, mismatch");
    return;
  }
  const auto cycle = cycle_of(checking, stuck);
  if (cycle.empty()) return;
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const spec::StuckRank& behind = cycle[(i + 1) % cycle.size()];
    const Action need = find_result(checking, cycle[i].need).value_or(cycle[i].need);
    steps.push_back(fmt::format("{} waits for {}, which rank {} does after {}",
                                to_string(cycle[i].action), to_string(need), behind.rank,
                                to_string(behind.action)));
  }
  const CellPlace* place = checking.find(cycle.front().action);
  checking.found("deadlock", place != nullptr ? *place : CellPlace{cycle.front().rank + 1, 0},
                 to_string(cycle.front().action), "wait-for cycle: " + cut(std::move(steps)));
}

// --- sends and receives ---

// A wire program and, of each of its actions, the cell that it comes from.
struct WireOfCells {
  WireProgram program;
  std::vector<std::vector<Action>> actions;
};

// One rank as PyTorch issues it: computations on one stream; a send or a receive waits for the
// computations issued before it; a computation waits for the receive of what it needs.
class RankWire {
 public:
  RankWire(const CheckShape& shape, int rank) : shape_(shape), rank_(rank) {}

  // Overlapped computations both wait for what either needs.
  void add(const ActionCell& cell) {
    for (const Action& action : cell.actions) {
      if (is_compute(action.kind) || is_message(action.kind)) add(action, cell);
    }
  }

  std::vector<WireAction> take_wires() { return std::move(wires_); }
  std::vector<Action> take_actions() { return std::move(actions_); }

 private:
  void add(const Action& action, const ActionCell& cell) {
    WireAction wire{.name = to_string(action),
                    .peer = -1,
                    .group = -1,
                    .payload = -1,
                    .stream = -1,
                    .batch = -1,
                    .after = {}};
    const int index = size_of(actions_);
    if (is_compute(action.kind)) {
      wire.stream = 0;
      for (const Action& beside : cell.actions) add_receive(beside, wire.after);
      last_computation_ = index;
    } else {
      add_message(action, wire);
      if (last_computation_ >= 0) wire.after.push_back(last_computation_);
      if (wire.kind == WireAction::Kind::receive) received_.emplace(wire.payload, index);
    }
    wires_.push_back(std::move(wire));
    actions_.push_back(action);
  }

  // A message by its direction, sending stage and microbatch.
  std::int64_t payload_of(bool forward, int sender, int microbatch) const {
    constexpr std::int64_t kIndices = spec::kMostIndex + 1;
    return (std::int64_t{forward ? 0 : 1} * shape_.map.stages() + sender) * kIndices + microbatch;
  }

  void add_message(const Action& action, WireAction& wire) const {
    const bool forward =
        action.kind == ActionKind::send_forward || action.kind == ActionKind::receive_forward;
    const bool send =
        action.kind == ActionKind::send_forward || action.kind == ActionKind::send_backward;
    const int step = forward == send ? 1 : -1;
    wire.kind = send ? WireAction::Kind::send : WireAction::Kind::receive;
    wire.peer = shape_.map.rank(action.stage + step);
    wire.payload =
        payload_of(forward, send ? action.stage : action.stage + step, action.microbatch);
  }

  void add_receive(const Action& action, std::vector<int>& after) const {
    for (const Action& need : needs_of(action, shape_.map.stages())) {
      if (shape_.map.rank(need.stage) == rank_) continue;
      const auto found =
          received_.find(payload_of(need.kind == ActionKind::forward, need.stage, need.microbatch));
      if (found != received_.end()) after.push_back(found->second);
    }
  }

  const CheckShape& shape_;
  int rank_;
  int last_computation_ = -1;
  std::unordered_map<std::int64_t, int> received_;  // payload to index
  std::vector<WireAction> wires_;
  std::vector<Action> actions_;
};

WireOfCells wired(const ActionTable& table, const CheckShape& shape) {
  WireOfCells result;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    RankWire rank(shape, static_cast<int>(r));
    for (const ActionCell& cell : table.rows[r]) rank.add(cell);
    result.program.ranks.push_back(rank.take_wires());
    result.actions.push_back(rank.take_actions());
  }
  return result;
}

std::string step_text(const WireOfCells& wired, const WireWait& wait) {
  const auto name = [&](WirePosition p) {
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
  const auto report = [&](const char* rule, WirePosition position, std::string message) {
    const Action& action = at(at(wired.actions, position.rank), position.index);
    const CellPlace* place = checking.find(action);
    checking.found(rule, place != nullptr ? *place : CellPlace{position.rank + 1, 0},
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
      // Without pairs there is nothing to judge; each has been found already.
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

void check_deadlock(ScheduleCheck& checking) {
  const CheckShape& shape = checking.shape();
  const CheckOptions& options = checking.options();
  const bool derived = shape.form == ActionForm::compute_only;
  spec::LoadedSchedule loaded;
  if (derived) {
    loaded = as_loaded(checking.table(), shape.map, shape.microbatches, {.reduce = options.reduce});
    if (!loaded.stuck.empty()) return report_stuck(checking, loaded.stuck);
  }
  const WireOfCells wire = wired(derived ? loaded.table : checking.table(), shape);
  report_wire(checking, wire,
              judge_wire(wire.program, {.layout = options.layout, .kernels = options.kernels}));
  if (!options.all_layouts) return;
  for (const WireLayout layout : {WireLayout::group, WireLayout::pair, WireLayout::edge}) {
    for (const WireKernels kernels :
         {WireKernels::per_stream, WireKernels::launch_order, WireKernels::serial}) {
      const auto verdict = judge_wire(wire.program, {.layout = layout, .kernels = kernels});
      checking.report().layouts.push_back({layout, kernels, verdict.kind});
    }
  }
}

}  // namespace ripeline::verify
