#include "optimise/problem.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lower/facts.h"
#include "optimise/bounds/program_bounds.h"
#include "simulate/run_program.h"
#include "spec/long_period.h"
#include "verify/verify.h"

namespace ripeline::optimise {
namespace {

using spec::Program;

constexpr Time kMostTime = INT64_MAX / 4;  // for all tasks together

std::optional<spec::Diagnostic> too_much(const Model& model, const simulate::Timing& timing) {
  Time sum = 0;
  for (const Time takes : model.takes) {
    if (takes > kMostTime - sum) {
      return spec::failure(fmt::format(
          "all tasks together take more than {:g}; take a larger unit",
          static_cast<double>(kMostTime) / static_cast<double>(timing.unit().nanoseconds)));
    }
    sum += takes;
  }
  return std::nullopt;
}

Program committed_to(Program program, const Rows& rows, const Model& model) {
  spec::Order order;
  order.name = "tried";
  order.file = "";  // the rows list tasks, as in an order from a file
  order.rows.resize(static_cast<std::size_t>(program.ranks));
  for (std::size_t m = 0; m < rows.size(); ++m) {
    if (model.machines[m].rank < 0) continue;
    std::vector<int> next(program.lanes.size(), 0);
    for (const int lane : rows[m]) {
      at(order.rows, model.machines[m].rank).push_back({lane, at(next, lane)++});
    }
  }
  program.orders.push_back(std::move(order));
  program.dispatch = {};
  program.dispatch.in_order = true;
  program.dispatch.order = size_of(program.orders) - 1;
  return program;
}

struct SimulatedRun {
  simulate::RunReport report;
  trace::Record record;
};

SimulatedRun simulated(const Program& program, int microbatches, const simulate::Timing& timing) {
  const core::OwnedFacts facts = lower::facts_of(program);
  SimulatedRun run;
  run.report = simulate::run_program(program, facts.facts(), microbatches, timing,
                                     {.record = &run.record, .causes = false});
  return run;
}

bool ended(const simulate::RunReport& report) { return report.status.ok() && !report.stuck; }

// The smallest and the largest of the values of all microbatches.
struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
// The amount of a pool that a microbatch needs if it runs alone: the range over all microbatches.
Range held_by_one(const Program& program, int microbatches, const Model& model, int pool) {
  struct Step {
    Time head;
    int lane;
    spec::Use use;
  };
  std::vector<Step> steps;
  for (int l = 0; l < size_of(program.lanes); ++l) {
    const Model::Lane& lane = at(model.lanes, l);
    if (at(program.lanes, l).once || lane.tasks == 0) continue;
    for (const spec::Use& use : spec::uses_of(at(program.lanes, l))) {
      if (use.pool == pool) steps.push_back({at(model.heads, lane.first), l, use});
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.head < b.head; });
  Range range{.least = INT64_MAX};
  const int period = spec::has_long_period(program) ? microbatches : spec::Share::kLongestPeriod;
  for (int m = 0; m < std::min(microbatches, period); ++m) {
    std::int64_t held = 0;
    std::int64_t peak = 0;
    for (const Step& step : steps) {
      if (!at(program.lanes, step.lane).share.has(m)) continue;
      peak = std::max(peak, held += step.use.acquires);
      held -= step.use.releases;
    }
    range = {std::min(range.least, peak), std::max(range.most, peak)};
  }
  return range;
}

std::int64_t acquired_by_all(const Program& program, int microbatches, int pool) {
  std::int64_t all = 0;
  for (int l = 0; l < size_of(program.lanes); ++l) {
    for (const spec::Use& use : spec::uses_of(at(program.lanes, l))) {
      if (use.pool == pool) all += use.acquires * program.tasks_of(l, microbatches);
    }
  }
  return all;
}

}  // namespace

Problem::Problem(Program program, int microbatches, simulate::TimingOptions times,
                 Objective objective)
    : program_(std::move(program)),
      microbatches_(microbatches),
      times_(std::move(times)),
      objective_(objective) {}

spec::Result<std::unique_ptr<Problem>> Problem::make(Program program, int microbatches,
                                                     const simulate::TimingOptions& times,
                                                     Objective objective) {
  std::unique_ptr<Problem> problem(new Problem(std::move(program), microbatches, times, objective));
  Problem& p = *problem;
  if (core::Status s = lower_bound(p.program_, microbatches, times, objective, p.bound_); !s.ok()) {
    return spec::failure(s.message());
  }
  if (auto error = p.read()) return *error;
  const UniformProgram* uniform = p.uniform();
  if (uniform != nullptr && !uniform->bytes && has_order(uniform->problem)) {
    const Bound bound = lower_bound(uniform->problem, objective);
    if (bound.value >= p.bound_.value) p.bound_ = bound;
  }
  if (!p.model_.left_out) {
    // An order's time is a sum of times in the model, so it is a multiple of their common divisor.
    const Time common = common_divisor(p.model_);
    p.bound_.value = (p.bound_.value + common - 1) / common * common;
  }
  return problem;
}

std::optional<spec::Diagnostic> Problem::read() {
  if (core::Status s = simulate::Timing::make(program_, microbatches_, times_, timing_); !s.ok()) {
    return spec::failure(s.message());
  }
  if (core::Status s = TaskGraph::make(program_, microbatches_, timing_, graph_); !s.ok()) {
    return spec::failure(s.message());
  }
  model_ = Model::of(program_, microbatches_, timing_, graph_);
  nearest_uniform_ = uniform_of(program_, microbatches_, model_);
  return too_much(model_, timing_);
}

std::unique_ptr<Problem> Problem::of_length(int microbatches) const {
  if (!model_.even || microbatches < 1) return nullptr;
  Program shorter = program_;
  shorter.microbatches = {.min = microbatches, .max = microbatches};
  std::unique_ptr<Problem> problem(
      new Problem(std::move(shorter), microbatches, times_, objective_));
  return problem->read() ? nullptr : std::move(problem);
}

Time Problem::work() const {
  Time most = 0;
  for (const Model::Machine& machine : model_.machines) {
    Time work = 0;
    if (machine.rank < 0) continue;
    for (const int l : machine.lanes) {
      if (at(program_.lanes, l).engine != core::Engine::compute) continue;
      for (int k = 0; k < at(model_.lanes, l).tasks; ++k) work += timing_.task({l, k}).count();
    }
    most = std::max(most, work);
  }
  return most;
}

std::unique_ptr<Problem> Problem::with_room(int microbatches) const {
  Program other = program_;
  bool changed = false;
  for (int p = 0; p < size_of(other.pools); ++p) {
    std::optional<std::int64_t>& capacity = at(other.pools, p).capacity;
    const Range each = held_by_one(program_, microbatches_, model_, p);
    const std::int64_t amount = microbatches < 0 ? each.least : each.most;
    if (!capacity || amount == 0) continue;
    if (microbatches > 0 && *capacity >= acquired_by_all(program_, microbatches_, p)) continue;
    *capacity += microbatches * amount;
    if (*capacity <= 0) return nullptr;
    changed = true;
  }
  if (!changed) return nullptr;
  auto made = make(std::move(other), microbatches_, times_, objective_);
  return made.ok() ? std::move(made).value() : nullptr;
}

bool Problem::fits() const {
  for (int p = 0; p < size_of(program_.pools); ++p) {
    const spec::Pool& pool = at(program_.pools, p);
    std::int64_t least = INT64_MAX;  // the least that is held at the first release
    for (int l = 0; l < size_of(program_.lanes); ++l) {
      if (at(model_.lanes, l).tasks == 0) continue;
      for (const spec::Use& use : spec::uses_of(at(program_.lanes, l))) {
        if (use.pool != p) continue;
        if (pool.capacity && use.acquires + use.leaving > *pool.capacity) return false;
        if (use.releases == 0) continue;
        std::int64_t held = use.acquires;
        for (const int other : spec::ancestors(program_, l)) {
          for (const spec::Use& before : spec::uses_of(at(program_.lanes, other))) {
            if (before.pool == p) held += before.acquires;
          }
        }
        least = std::min(least, held);
      }
    }
    if (pool.capacity && least != INT64_MAX && least > *pool.capacity) return false;
  }
  return true;
}

std::optional<TimedOrder> Problem::timed(const Rows& rows) const {
  if (!model_.left_out) {
    const auto starts = starts_of(model_, rows);
    return starts ? std::optional(measured(rows, *starts)) : std::nullopt;
  }
  const SimulatedRun run = simulated(committed_to(program_, rows, model_), microbatches_, timing_);
  if (!ended(run.report)) return std::nullopt;
  return TimedOrder{rows, run.report.makespan.count(), run.report.span.count(), run.report.peaks};
}

bool Problem::is_safe(const Rows& rows, std::uint64_t states) const {
  if (!model_.left_out) return true;
  const verify::VerifyOptions options{.search_states = states};
  return verify::verify(committed_to(program_, rows, model_), options).proved.has_value();
}

std::optional<TimedOrder> Problem::of_own_dispatch() const {
  SimulatedRun run = simulated(program_, microbatches_, timing_);
  if (!ended(run.report)) return std::nullopt;
  std::stable_sort(run.record.tasks.begin(), run.record.tasks.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  Rows rows(model_.machines.size());
  for (const trace::TaskEvent& event : run.record.tasks) {
    at(rows, at(model_.lanes, event.task.lane).machine).push_back(event.task.lane);
  }
  for (int m = 0; m < size_of(rows); ++m) {
    const Model::Machine& machine = at(model_.machines, m);
    if (machine.rank < 0) at(rows, m) = machine.lanes;
  }
  return TimedOrder{std::move(rows), run.report.makespan.count(), run.report.span.count(),
                    run.report.peaks};
}

bool Problem::is_own_dispatch_safe() const { return verify::verify(program_).proved.has_value(); }

TimedOrder Problem::measured(const Rows& rows, const std::vector<Time>& starts) const {
  TimedOrder found;
  found.rows = rows;
  std::vector<Time> begin(static_cast<std::size_t>(program_.ranks), INT64_MAX);
  std::vector<Time> end(begin.size(), 0);
  struct Change {
    Time when;
    bool takes;  // at equal times, releases come first
    std::int64_t amount;
  };
  std::vector<std::vector<Change>> changes(program_.pools.size());
  for (int l = 0; l < size_of(program_.lanes); ++l) {
    const spec::Lane& lane = at(program_.lanes, l);
    const std::vector<spec::Use> uses = spec::uses_of(lane);
    const int first = at(model_.lanes, l).first;
    for (int task = first; task < first + at(model_.lanes, l).tasks; ++task) {
      const Time started = at(starts, task);
      const Time ended = started + at(model_.takes, task);
      at(begin, lane.rank) = std::min(at(begin, lane.rank), started);
      at(end, lane.rank) = std::max(at(end, lane.rank), ended);
      for (const spec::Use& use : uses) {
        if (use.acquires > 0) at(changes, use.pool).push_back({started, true, use.acquires});
        if (use.releases > 0) at(changes, use.pool).push_back({ended, false, -use.releases});
      }
    }
  }
  for (std::size_t r = 0; r < begin.size(); ++r) {
    found.makespan = std::max(found.makespan, end[r]);
    if (begin[r] <= end[r]) found.span = std::max(found.span, end[r] - begin[r]);
  }
  for (std::vector<Change>& of_pool : changes) {
    std::sort(of_pool.begin(), of_pool.end(), [](const Change& a, const Change& b) {
      return std::pair(a.when, a.takes) < std::pair(b.when, b.takes);
    });
    std::int64_t held = 0;
    std::int64_t peak = 0;
    for (const Change& change : of_pool) peak = std::max(peak, held += change.amount);
    found.peaks.push_back(peak);
  }
  return found;
}

}  // namespace ripeline::optimise
