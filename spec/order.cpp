// An order's text to the lanes that a rank runs. elaborate() uses the runs, which stay small for
// any number of microbatches.
#include "spec/order_runs.h"

#include <fmt/format.h>

namespace ripeline::spec {
namespace {

constexpr std::int64_t kMostTasks = 10'000'000;

class Expansion {
 public:
  Expansion(const Program& program, const Order& order, int rank, int microbatches,
            const std::vector<int>& stages)
      : program_(program),
        order_(order),
        rank_(rank),
        microbatches_(microbatches),
        stages_(stages) {
    names_ = {{"r", {rank, 1}},
              {"chunks", {static_cast<std::int64_t>(stages.size()), 1}},
              {"microbatches", {microbatches, 1}}};
  }

  Result<std::vector<OrderRun>> run() {
    for (const OrderLet& let : order_.lets) {
      const Result<Rational> value = evaluate(let.value, lookup());
      if (!value.ok()) return placed(value.errors());
      names_.emplace_back(let.name, value.value());
    }
    std::vector<OrderRun> runs;
    std::int64_t total = 0;
    for (const OrderRepeat& repeat : order_.repeats) {
      Result<OrderRun> run = expand_repeat(repeat);
      if (!run.ok()) return run.errors();
      const OrderRun& done = run.value();
      if (done.count == 0 || done.lanes.empty()) continue;
      // Compared by division: the product might overflow.
      if (done.count > (kMostTasks - total) / static_cast<std::int64_t>(done.lanes.size())) {
        return too_long();
      }
      total += done.count * static_cast<std::int64_t>(done.lanes.size());
      runs.push_back(std::move(run).value());
    }
    return runs;
  }

 private:
  Result<OrderRun> expand_repeat(const OrderRepeat& repeat) {
    const Span place = repeat.count.span.end > 0 ? repeat.count.span : repeat.span;
    const Result<std::int64_t> count = whole(repeat.count, place);
    if (!count.ok()) return count.errors();
    if (count.value() < 0) {
      return Diagnostic{
          "order-negative-count", fmt::format("this count is {} {}", count.value(), where()),
          "a count must be 0 or more for every rank and every microbatch count in range", place};
    }
    OrderRun run{{}, count.value()};
    if (run.count == 0) return run;  // the steps need not exist then
    for (const OrderStep& step : repeat.steps) {
      const Result<int> lane = lane_of(step);
      if (!lane.ok()) return lane.errors();
      run.lanes.push_back(lane.value());
    }
    return run;
  }

  Result<int> lane_of(const OrderStep& step) {
    std::int64_t chunk = 0;
    if (step.chunk) {
      const Result<std::int64_t> value = whole(*step.chunk, step.chunk->span);
      if (!value.ok()) return value.errors();
      chunk = value.value();
    }
    const auto chunks = static_cast<std::int64_t>(stages_.size());
    if (chunk < 0 || chunk >= chunks) {
      return Diagnostic{"order-no-such-chunk",
                        fmt::format("there is no chunk {} {}", chunk, where()),
                        fmt::format("rank {} has chunks 0 .. {}", rank_, chunks - 1),
                        step.chunk ? step.chunk->span : step.span};
    }
    const int stage = stages_[static_cast<std::size_t>(chunk)];
    const int lane = program_.lane_of(step.op, stage);
    if (lane < 0) {
      return Diagnostic{"order-no-such-lane",
                        fmt::format("stage {} has no {} ({})", stage,
                                    Program::at(program_.ops, step.op).name, where()),
                        "its `when` is false there; give it a count of 0", step.span};
    }
    return lane;
  }

  Result<std::int64_t> whole(const Expr& expr, Span place) {
    const Result<Rational> value = evaluate(expr, lookup());
    if (!value.ok()) return placed(value.errors());
    if (value.value().is_integer()) return value.value().numerator;
    return Diagnostic{"expr-not-integer",
                      fmt::format("{}/{} is no integer, {}", value.value().numerator,
                                  value.value().denominator, where()),
                      "use div, floor or ceil to round", place};
  }

  Diagnostics placed(Diagnostics errors) const {
    for (Diagnostic& error : errors) error.message += ", " + where();
    return errors;
  }

  Diagnostic too_long() const {
    return {"order-too-long",
            fmt::format("order '{}' has more than {} tasks {}", order_.name, kMostTasks, where()),
            "use fewer microbatches", order_.span};
  }

  std::string where() const {
    return fmt::format("on rank {} with {} microbatch{}", rank_, microbatches_,
                       microbatches_ == 1 ? "" : "es");
  }

  Lookup lookup() const {
    return [this](std::string_view name) -> std::optional<Rational> {
      for (const auto& [known, value] : names_) {
        if (known == name) return value;
      }
      return std::nullopt;
    };
  }

  const Program& program_;
  const Order& order_;
  int rank_;
  int microbatches_;
  const std::vector<int>& stages_;  // of the rank, by chunk
  std::vector<std::pair<std::string, Rational>> names_;
};

}  // namespace

std::vector<std::vector<int>> stages_by_rank(const Program& program) {
  std::vector<std::vector<int>> stages(static_cast<std::size_t>(program.ranks));
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    stages[static_cast<std::size_t>(program.stages[s].rank)].push_back(static_cast<int>(s));
  }
  return stages;
}

Result<std::vector<OrderRun>> expand_runs(const Program& program, const Order& order, int rank,
                                          int microbatches, const std::vector<int>& stages) {
  return Expansion(program, order, rank, microbatches, stages).run();
}

Result<std::vector<int>> expand(const Program& program, const Order& order, int rank,
                                int microbatches) {
  const std::vector<int> stages = stages_by_rank(program)[static_cast<std::size_t>(rank)];
  const Result<std::vector<OrderRun>> runs =
      expand_runs(program, order, rank, microbatches, stages);
  if (!runs.ok()) return runs.errors();
  std::vector<int> lanes;
  for (const OrderRun& run : runs.value()) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      lanes.insert(lanes.end(), run.lanes.begin(), run.lanes.end());
    }
  }
  return lanes;
}

}  // namespace ripeline::spec
