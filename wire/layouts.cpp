// Lowers committed orders to sends and receives, and judges these in each layout.
#include "wire/layouts.h"

#include <algorithm>

#include <fmt/format.h>

#include "verify/order/order_run.h"
#include "wire/counts.h"

namespace ripeline::wire {

using spec::Program;
using Kind = WireAction::Kind;

namespace {

// The number of tasks, over all counts, that may be judged for each row of the table.
constexpr std::int64_t kMostTasks = 300'000;

class WireLowering {
 public:
  WireLowering(const Program& program, int microbatches, WireStreams streams)
      : program_(program), microbatches_(microbatches), streams_(streams) {}

  WireProgram run() {
    const spec::Order& order = at(program_.orders, program_.dispatch.order);
    WireProgram wire;
    for (int rank = 0; rank < program_.ranks; ++rank) {
      const auto tasks = expand(program_, order, rank, microbatches_);
      std::vector<WireAction>& actions = wire.ranks.emplace_back();
      if (!tasks.ok()) continue;
      actions.reserve(2 * tasks.value().size());
      for (const auto& [lane, microbatch] : tasks.value()) add_task(actions, lane, microbatch);
    }
    return wire;
  }

 private:
  void add_task(std::vector<WireAction>& actions, int lane, int microbatch) const {
    const auto before = size_of(actions);
    for (const int e : at(program_.lanes, lane).edges) {
      const spec::Edge& edge = at(program_.edges, e);
      if (!program_.crosses_ranks(edge)) continue;
      actions.push_back(message(Kind::receive, e, microbatch));
    }
    WireAction task{.kind = Kind::compute, .name = program_.task_name(lane, microbatch)};
    const auto own = size_of(actions);
    if (streams_ == WireStreams::apart) {
      for (int i = before; i < own; ++i) task.after.push_back(i);
    }
    actions.push_back(std::move(task));
    for (const int e : at(program_.lanes, lane).feeds) {
      if (!program_.crosses_ranks(at(program_.edges, e))) continue;
      actions.push_back(message(Kind::send, e, microbatch));
      if (streams_ == WireStreams::apart) actions.back().after.push_back(own);
    }
  }

  WireAction message(Kind kind, int e, int microbatch) const {
    const spec::Edge& edge = at(program_.edges, e);
    const spec::Lane& producer = at(program_.lanes, edge.producer);
    const spec::Lane& consumer = at(program_.lanes, edge.consumer);
    const bool sends = kind == Kind::send;
    return {.kind = kind,
            .name = fmt::format(FMT_STRING("{}{}_{}{}"), sends ? producer.stage : consumer.stage,
                                sends ? "SEND" : "RECV", at(program_.ops, producer.op).name,
                                microbatch),
            .peer = sends ? consumer.rank : producer.rank,
            .payload = std::int64_t{e} * microbatches_ + microbatch,
            .stream = streams_ == WireStreams::one ? 0 : -1};
  }

  const Program& program_;
  int microbatches_;
  WireStreams streams_;
};

WireCounts counts_of(const Program& program) {
  const auto& range = program.microbatches;
  WireCounts counts{range.min, std::max(range.min, 2 * program.ranks + 1), false};
  if (range.max) counts.max = std::min(counts.max, *range.max);
  const auto lanes = static_cast<std::int64_t>(program.lanes.size());
  std::int64_t tasks = 0;
  for (int m = counts.min; m <= counts.max; ++m) {
    tasks += lanes * m;
    if (tasks > kMostTasks) counts.max = std::max(counts.min, m - 1);
  }
  counts.all = range.max == counts.max;
  return counts;
}

}  // namespace

std::string name_of(WireStreams streams) { return streams == WireStreams::one ? "one" : "apart"; }

WireProgram wire_program(const Program& program, int microbatches, WireStreams streams) {
  return WireLowering(program, microbatches, streams).run();
}

namespace {

// Returns nullopt if the lowering can express the program: it is dispatched in order, its tasks are
// of one microbatch and on one engine, and its links have no options. Else returns the reason.
std::optional<std::string> why_not_lowered(const Program& program) {
  if (!program.dispatch.in_order) {
    return "Sends and receives have a fixed order only with `dispatch in order`; under `dispatch "
           "ready` each message has a slot of its own, and none waits behind another.";
  }
  std::vector<spec::Unsupported> missing = program.unsupported;
  for (const spec::Unsupported& feature : spec::features_of(program)) missing.push_back(feature);
  if (missing.empty()) return std::nullopt;
  return fmt::format("`{}` is not supported here.", missing.front().construct);
}

std::optional<std::string> why_not_run(const Program& program, const WireCounts& counts) {
  for (int m = counts.min; m <= counts.max; ++m) {
    const verify::OrderRunResult run = run_order(program, m, verify::Slots::unbounded);
    const std::string with = fmt::format("With {} microbatch{}", m, m == 1 ? "" : "es");
    if (run.invalid) return fmt::format("{} the order has no meaning.", with);
    if (!run.not_once.empty()) return fmt::format("{}, {}.", with, run.not_once);
    if (!run.finished) {
      return fmt::format("{} the order deadlocks even where no send waits: nothing is left to ask.",
                         with);
    }
  }
  return std::nullopt;
}

}  // namespace

JudgedCounts wire_counts(const Program& program) {
  if (auto problem = why_not_lowered(program)) return {{}, std::move(problem)};
  const WireCounts counts = counts_of(program);
  return {counts, why_not_run(program, counts)};
}

LayoutTable judge_layouts(const Program& program) {
  LayoutTable table;
  JudgedCounts judged = wire_counts(program);
  table.counts = judged.counts;
  table.problem = std::move(judged.problem);
  if (table.problem) return table;
  for (const WireStreams streams : {WireStreams::one, WireStreams::apart}) {
    std::vector<LayoutRow> rows;
    for (const WireLayout layout : {WireLayout::group, WireLayout::pair, WireLayout::edge}) {
      for (const WireKernels kernels :
           {WireKernels::per_stream, WireKernels::launch_order, WireKernels::serial}) {
        rows.push_back({streams, layout, kernels, WireVerdict::Kind::safe, 0, {}});
      }
    }
    for (int m = table.counts.min; m <= table.counts.max; ++m) {
      const WireProgram wire = wire_program(program, m, streams);
      for (LayoutRow& row : rows) {
        if (row.kind != WireVerdict::Kind::safe) continue;
        WireVerdict verdict = judge_wire(wire, {row.layout, row.kernels});
        if (verdict.kind == WireVerdict::Kind::safe) continue;
        row.kind = verdict.kind;
        row.microbatches = m;
        row.sentence = std::move(verdict.sentence);
      }
    }
    table.rows.insert(table.rows.end(), rows.begin(), rows.end());
  }
  return table;
}

}  // namespace ripeline::wire
