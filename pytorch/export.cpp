#include "pytorch/export.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "spec/footprint.h"
#include "spec/machine.h"

namespace ripeline::pytorch {
namespace {

using spec::Diagnostics;
using spec::Event;
using spec::Lane;
using spec::Program;

std::optional<ActionKind> kind_of(spec::OpKind kind) {
  switch (kind) {
    case spec::OpKind::forward:
      return ActionKind::forward;
    case spec::OpKind::backward:
      return ActionKind::backward;
    case spec::OpKind::backward_input:
      return ActionKind::backward_input;
    case spec::OpKind::backward_weight:
      return ActionKind::backward_weight;
    default:
      return std::nullopt;
  }
}

// The measured bytes for the state of the run and for the file that is made from it.
constexpr spec::KeptBytes kKeptOfRun{.task = 150, .message = 50, .microbatch = 0};

spec::Diagnostic wrong(std::string id, std::string message, std::string hint,
                       spec::Span span = {}) {
  return {
      .id = std::move(id), .message = std::move(message), .hint = std::move(hint), .span = span};
}

// The error if some microbatch does not run backward exactly once at the stage, whole or in two
// halves; nullopt if each does, or if every op of the stage runs all microbatches.
std::optional<spec::Diagnostic> partial_backwards(const Program& program, int stage,
                                                  int microbatches) {
  std::array<int, 3> lanes{-1, -1, -1};  // whole, input, weight
  bool partial = false;
  for (int lane = 0; lane < size_of(program.lanes); ++lane) {
    const Lane& l = at(program.lanes, lane);
    if (l.stage != stage) continue;
    partial = partial || !l.share.is_all();
    switch (at(program.ops, l.op).kind) {
      case spec::OpKind::backward:
        lanes[0] = lane;
        break;
      case spec::OpKind::backward_input:
        lanes[1] = lane;
        break;
      case spec::OpKind::backward_weight:
        lanes[2] = lane;
        break;
      default:
        break;
    }
  }
  for (int m = 0; partial && m < microbatches; ++m) {
    const auto has = [&](int lane) { return lane >= 0 && at(program.lanes, lane).share.has(m); };
    const bool input = has(lanes[1]);
    if (has(lanes[0]) != input && input == has(lanes[2])) continue;
    return wrong("export-where",
                 fmt::format("stage {} does not run microbatch {} backward once", stage, m),
                 "PyTorch's schedules run each backward whole (B), or as its two halves (I, W)");
  }
  return std::nullopt;
}

// Errors for the parts of the program that PyTorch's schedules cannot express.
Diagnostics problems(const Program& program, int microbatches) {
  Diagnostics found;
  for (const spec::Unsupported& u : program.unsupported) {
    found.push_back(wrong(
        "export-unsupported",
        fmt::format("{} is not executed, so there is no run to write", u.construct), {}, u.span));
  }
  std::set<std::pair<int, ActionKind>> there;
  for (const Lane& lane : program.lanes) {
    const spec::Op& op = at(program.ops, lane.op);
    const auto kind = kind_of(op.kind);
    if (!kind) {
      found.push_back(
          wrong("export-op", fmt::format("PyTorch's schedules have no action for op {}", op.name),
                "they have forward, backward, backward input and backward weight", op.span));
      return found;
    }
    if (lane.engine != spec::Engine::compute) {
      found.push_back(wrong("export-engine",
                            fmt::format("op {} is not on the compute engine", op.name),
                            "PyTorch's schedules have one engine", op.span));
      return found;
    }
    if (!lane.share.is_all() && *kind == ActionKind::forward) {
      found.push_back(wrong("export-where",
                            fmt::format("op {} runs for some microbatches only", op.name),
                            "PyTorch's schedules run every microbatch forward", op.span));
      return found;
    }
    if (!there.insert({lane.stage, *kind}).second) {
      found.push_back(wrong("export-op",
                            fmt::format("stage {} has a second {}", lane.stage, name_of(*kind)),
                            "PyTorch's schedules have one of each kind", op.span));
      return found;
    }
  }
  if (program.inputs != spec::InputOrder::natural) {
    found.push_back(wrong("export-inputs", "PyTorch takes the inputs of a step as they come",
                          "sort them in the training program, and write `inputs natural;`"));
    return found;
  }
  const int stages = static_cast<int>(program.stages.size());
  for (int s = 0; s < stages; ++s) {
    const std::vector<int> next = s + 1 < stages ? std::vector<int>{s + 1} : std::vector<int>{};
    if (at(program.stages, s).next != next) {
      found.push_back(wrong("export-stages", fmt::format("the stages are no chain at stage {}", s),
                            "PyTorch's schedules send from each stage to the next"));
      break;
    }
    if (const auto partial = partial_backwards(program, s, microbatches)) {
      found.push_back(*partial);
      break;
    }
  }
  return found;
}

std::optional<Placement> placement_of(const Program& program) {
  const int stages = static_cast<int>(program.stages.size());
  for (const Placement placement : {Placement::chain, Placement::loop, Placement::v}) {
    const auto map = place_stages(placement, program.ranks, stages);
    if (!map) continue;
    const auto placed = [&](const spec::Stage& stage) {
      const auto s = static_cast<int>(&stage - program.stages.data());
      return stage.rank == map->rank(s);
    };
    if (std::all_of(program.stages.begin(), program.stages.end(), placed)) return placement;
  }
  return std::nullopt;
}

// A cost in ticks, which are fine enough for measured costs and add up exactly.
std::int64_t ticks_of(spec::Rational cost) {
  constexpr long double kTicks = 1e6L;
  return std::llroundl(kTicks * static_cast<long double>(cost.numerator) /
                       static_cast<long double>(cost.denominator));
}

// Errors for costs that have no value for some microbatch.
Diagnostics check_costs(const Program& program, int microbatches) {
  for (const Lane& lane : program.lanes) {
    for (int m = 0; lane.cost.varies() && m < microbatches; ++m) {
      if (!lane.share.has(m)) continue;
      const spec::Result<spec::Rational> cost = lane.cost.of(m);
      if (!cost.ok()) return cost.errors();
    }
  }
  return {};
}

// Runs the program on a virtual clock.
class VirtualClockRun {
 public:
  VirtualClockRun(const Program& program, int microbatches)
      : program_(program), machine_(program, microbatches), state_(machine_.initial()) {
    table_.rows.resize(static_cast<std::size_t>(program.ranks));
    running_.resize(table_.rows.size());
  }

  // Runs the program to the end; false if the run gets stuck.
  bool go() {
    while (!machine_.done(state_)) {
      deliver();
      for (int rank = 0; rank < program_.ranks; ++rank) start(rank);
      if (!end_next()) return false;
    }
    return true;
  }

  ActionTable take() { return std::move(table_); }

 private:
  struct RunningTask {
    int lane = -1;
    int microbatch = -1;
    std::int64_t end = 0;
  };

  void deliver() {
    std::erase_if(on_way_, [this](const Event& event) {
      if (!machine_.is_enabled(state_, event, spec::Machine::Chooser::dispatch)) return false;
      machine_.step(state_, event);
      return true;
    });
  }

  void start(int rank) {
    RunningTask& running = running_[static_cast<std::size_t>(rank)];
    if (running.lane >= 0) return;
    const auto [lane, microbatch] = machine_.choice(state_, rank, spec::Engine::compute);
    if (lane < 0) return;
    machine_.step(state_, {.what = Event::Do::start, .lane = lane, .microbatch = microbatch});
    const Lane& l = at(program_.lanes, lane);
    const int input = program_.microbatch_of(lane, microbatch);
    running = {lane, microbatch, now_ + ticks_of(l.cost.of(input).value())};
    const auto kind = kind_of(at(program_.ops, l.op).kind);
    table_.rows[static_cast<std::size_t>(rank)].push_back({.actions = {{*kind, l.stage, input}}});
  }

  // Ends all tasks that end at the earliest time; false if no task runs.
  bool end_next() {
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    std::int64_t next = kNever;
    for (const RunningTask& r : running_) {
      if (r.lane >= 0) next = std::min(next, r.end);
    }
    if (next == kNever) return false;
    now_ = next;
    for (RunningTask& r : running_) {
      if (r.lane < 0 || r.end != next) continue;
      machine_.step(state_, {.what = Event::Do::end, .lane = r.lane, .microbatch = r.microbatch});
      for (const int edge : at(program_.lanes, r.lane).feeds) {
        const spec::Edge& e = at(program_.edges, edge);
        const int count = machine_.microbatches();
        if (!program_.crosses_ranks(e) || program_.needed_by(e, r.microbatch, count) < 0) continue;
        on_way_.push_back(arrival_of(program_, edge, r.microbatch));
      }
      r.lane = -1;
    }
    return true;
  }

  const Program& program_;
  spec::Machine machine_;
  spec::Machine::State state_;
  std::int64_t now_ = 0;
  std::vector<RunningTask> running_;  // per rank
  std::vector<Event> on_way_;
  ActionTable table_;
};

const char* schedule_class(Placement placement) {
  switch (placement) {
    case Placement::chain:
      return "1F1B";
    case Placement::loop:
      return "Interleaved1F1B";
    case Placement::v:
      return "ZBVZeroBubble";
  }
  return "";
}

bool splits_backward(const ActionTable& table) {
  for (const auto& row : table.rows) {
    for (const auto& cell : row) {
      if (cell.actions.front().kind == ActionKind::backward_input) return true;
    }
  }
  return false;
}

}  // namespace

bool has_actions(const Program& program, int microbatches) {
  return problems(program, microbatches).empty() && placement_of(program);
}

spec::Result<ExportedActions> export_actions(const Program& program, int microbatches) {
  Diagnostics found = problems(program, microbatches);
  if (!found.empty()) return found;
  const auto placement = placement_of(program);
  if (!placement) {
    return wrong("export-placement", "PyTorch has no schedule with this placement of stages",
                 "it has chain (stage s on rank s), loop (s % ranks) and v (down and back up)");
  }
  if (program.dispatch.binding() >= 0) {
    const spec::Order& order = at(program.orders, program.dispatch.binding());
    for (int rank = 0; rank < program.ranks; ++rank) {
      const auto expanded = expand(program, order, rank, microbatches);
      if (!expanded.ok()) return expanded.errors();
    }
  }
  if (Diagnostics wrong_costs = check_costs(program, microbatches); !wrong_costs.empty()) {
    return wrong_costs;
  }
  if (const auto why = too_large(program, microbatches, kKeptOfRun)) {
    return wrong("export-too-large", *why, "");
  }
  VirtualClockRun run(program, microbatches);
  if (!run.go()) {
    return wrong("export-stuck", "the program deadlocks before all tasks have run",
                 "`ripeline verify` says why");
  }
  const auto map = place_stages(*placement, program.ranks, static_cast<int>(program.stages.size()));
  return ExportedActions{.table = run.take(), .placement = *placement, .map = *map};
}

spec::Result<ExportedFile> export_file(const spec::Program& program, int microbatches,
                                       ActionForm form) {
  auto exported = export_actions(program, microbatches);
  if (!exported.ok()) return exported.errors();
  ExportedFile file{
      .actions = std::move(exported).value(), .text = {}, .options = {}, .table = {}, .report = {}};
  const StageMap& map = file.actions.map;
  file.text = write_actions(form == ActionForm::compute_comms
                                ? as_loaded(file.actions.table, map, microbatches).table
                                : file.actions.table);
  file.options = {.ranks = map.ranks,
                  .stages = map.stages(),
                  .microbatches = microbatches,
                  .placement = file.actions.placement,
                  .form = form};
  ReadActions read = read_actions(file.text);
  auto checked = check(read, file.options);
  if (!checked.ok()) return checked.errors();
  file.table = std::move(read.table);
  file.report = std::move(checked).value();
  return file;
}

std::string loading_text(const std::string& file, const ExportedFile& exported) {
  const auto& [table, placement, map] = exported.actions;
  const char* name = schedule_class(placement);
  const int microbatches = *exported.options.microbatches;
  const std::string form = name_of(*exported.options.form);
  const bool computes_only = exported.options.form == ActionForm::compute_only;
  std::string text = fmt::format(
      "{}: {}, {} ranks, {} stages, {} microbatches, placement {}; passes `ripeline check`\n"
      "{}"
      "load it with\n"
      "  PyTorch         schedule = _PipelineScheduleRuntime(stages, n_microbatches={}, "
      "loss_fn=loss_fn)\n"
      "                  schedule._load_csv(\"{}\", format=\"{}\")\n",
      file, form, map.ranks, map.stages(), microbatches, name_of(placement),
      computes_only ? "computations alone: PyTorch derives the communication; "
                      "--form compute_comms writes both\n"
                    : "",
      microbatches, file, form);
  if (computes_only) {
    text += fmt::format(
        "  TorchTitan      --parallelism.pipeline_parallel_degree {} "
        "--parallelism.pipeline_parallel_schedule {} "
        "--parallelism.pipeline_parallel_schedule_csv {}\n"
        "  NeMo AutoModel  pp_size={} pp_schedule={} pp_schedule_csv={}\n"
        "  and a batch of {} times the microbatch size\n",
        map.ranks, name, file, map.ranks, name, file, microbatches);
  } else {
    text += "  TorchTitan and NeMo AutoModel load compute_only files alone\n";
  }
  if (splits_backward(table)) {
    text += "split backward (I, W) has known defects with torch.compile, FlexAttention and DDP\n";
  }
  return text;
}

}  // namespace ripeline::pytorch
