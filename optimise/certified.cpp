#include "optimise/certified.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "optimise/forms.h"
#include "optimise/written_order.h"
#include "simulate/run_program.h"
#include "spec/elaborate.h"
#include "verify/verify.h"

namespace ripeline::optimise {
namespace {

// Describes the first difference between the search's and the simulator's results; empty if none.
std::string difference(const Claim& claim, const Certified& made) {
  if (!made.run.status.ok()) return "the simulator: " + made.run.status.message();
  if (made.run.stuck) return "the simulated run deadlocks: " + made.run.waiting;
  const auto different = [](const std::string& what, Time searched, Time simulated) {
    return fmt::format("the search says {} {}, and the simulator says {}", what, searched,
                       simulated);
  };
  const TimedOrder& order = claim.order;
  if (order.makespan != made.run.makespan.count()) {
    return different("a wall of", order.makespan, made.run.makespan.count()) + " ns";
  }
  if (order.span != made.run.span.count()) {
    return different("a span of", order.span, made.run.span.count()) + " ns";
  }
  for (std::size_t pool = 0; pool < made.run.peaks.size(); ++pool) {
    if (pool < order.peaks.size() && order.peaks[pool] == made.run.peaks[pool]) continue;
    return different("that " + made.program.pool_name(static_cast<int>(pool)) + " holds",
                     pool < order.peaks.size() ? order.peaks[pool] : 0, made.run.peaks[pool]);
  }
  return "";
}

// Describes the lower bound that is above the order's simulated time; empty if there is none.
std::string refuted_bound(const Claim& claim, const Certified& made) {
  const Problem& problem = claim.problem;
  const bool makespan = problem.objective() == Objective::makespan;
  const Time value = (makespan ? made.run.makespan : made.run.span).count();
  Bound general;
  const core::Status s = lower_bound(made.program, problem.microbatches(), problem.times(),
                                     problem.objective(), general);
  if (!s.ok()) return "bounds of its program: " + s.message();
  for (const Bound& bound : {claim.bound, general}) {
    if (bound.value <= value) continue;
    return fmt::format("it takes {} ns, which is below the bound {} ns ({})", value, bound.value,
                       bound.by);
  }
  return "";
}

}  // namespace

spec::Diagnostic defect(const std::string& what) {
  return spec::failure(what + "\nThis is a defect of Ripeline.");
}

spec::Result<spec::Program> compiled(const Claim& claim, const std::string& text) {
  spec::ElaborateOptions reading;
  reading.read_file = claim.read_file;
  return spec::compile({claim.source.name, text}, reading);
}

Claim claim_of(const FormSearch& search, const spec::ReadFile& read_file) {
  const Form& form = *search.best()->form;
  return {.problem = *form.problem,
          .source = form.source,
          .read_file = read_file,
          .bound = search.bound_of(form),
          .order = search.best()->order};
}

spec::Result<Certified> certified(const Claim& claim, const std::vector<std::string>& comments) {
  const Problem& problem = claim.problem;
  Certified made;
  auto text = with_order(claim.source, problem.program(), {problem.microbatches()}, problem.model(),
                         claim.order.rows, comments);
  if (!text.ok()) return defect("the program of the order that was found does not parse");
  made.text = std::move(text).value();
  auto program = compiled(claim, made.text);
  if (!program.ok()) {
    return defect("the program of the order that was found: " + program.errors().front().message);
  }
  made.program = std::move(program).value();
  made.verdict = verify::verify(made.program);
  if (!made.verdict.proved) return defect("the order that was found is not proved");
  made.facts = lower::facts_of(*made.verdict.proved);
  if (const core::Status s = simulate::Timing::make(made.program, problem.microbatches(),
                                                    problem.times(), made.timing);
      !s.ok()) {
    return defect("times of the order that was found: " + s.message());
  }
  made.run = simulate::run_program(made.program, made.facts.facts(), problem.microbatches(),
                                   made.timing, {.record = &made.record, .causes = true});
  for (const std::string& lie : {difference(claim, made), refuted_bound(claim, made)}) {
    if (!lie.empty()) return defect("the order that was found: " + lie);
  }
  return made;
}

std::optional<std::string> for_every_count(const Claim& claim,
                                           const std::vector<std::string>& comments) {
  const Problem& problem = claim.problem;
  const int count = problem.microbatches();
  if (!problem.model().even) return std::nullopt;
  auto text = with_order(claim.source, problem.program(), {count, true}, problem.model(),
                         claim.order.rows, comments);
  if (!text.ok()) return std::nullopt;
  const auto program = compiled(claim, text.value());
  if (!program.ok() || !verify::verify(program.value()).proved) return std::nullopt;
  // For the problem's count of microbatches, the program must have the claim's order.
  const spec::Program& every = program.value();
  for (int rank = 0; rank < every.ranks; ++rank) {
    const auto tasks = spec::expand(every, at(every.orders, every.dispatch.order), rank, count);
    if (!tasks.ok()) return std::nullopt;
    Rows rows(problem.model().machines.size());
    for (const spec::Task& task : tasks.value()) {
      at(rows, at(problem.model().lanes, task.lane).machine).push_back(task.lane);
    }
    for (int m = 0; m < size_of(rows); ++m) {
      const bool own = at(problem.model().machines, m).rank == rank;
      if (own && at(rows, m) != at(claim.order.rows, m)) return std::nullopt;
    }
  }
  return std::move(text).value();
}

}  // namespace ripeline::optimise
