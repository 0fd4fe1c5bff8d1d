#include "optimise/certified.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "optimise/written_order.h"
#include "simulate/table_arbiter.h"
#include "spec/elaborate.h"
#include "spec/parse.h"
#include "spec/print.h"
#include "verify/verify.h"

namespace ripeline::optimise {
namespace {

spec::Diagnostic defect(const std::string& what) {
  return {"defect", what + "\nThis is a defect of Ripeline.", "", {}};
}

std::string different(const char* what, std::int64_t searched, double simulated) {
  return fmt::format("the search says {} {}, and the simulator says {:.12g}", what, searched,
                     simulated);
}

// Empty: the simulator says what the search says.
std::string difference(const Claim& claim, const Certified& made) {
  if (!made.run.status.ok()) return "the simulator: " + made.run.status.message();
  if (made.run.stuck) return "the simulated run deadlocks: " + made.run.waiting;
  // Compared exactly, and by parts: the products of the whole may not fit in 64 bits.
  const std::int64_t nanoseconds = made.timing.unit().nanoseconds;
  const auto same = [&](std::int64_t searched, core::Time simulated) {
    return searched / claim.unit == simulated.count() / nanoseconds &&
           searched % claim.unit * nanoseconds == simulated.count() % nanoseconds * claim.unit;
  };
  const auto simulated = [&](core::Time time) {
    return static_cast<double>(time.count()) * static_cast<double>(claim.unit) /
           static_cast<double>(nanoseconds);
  };
  const FoundOrder& order = claim.order;
  if (!same(order.wall, made.run.makespan)) {
    return different("a wall of", order.wall, simulated(made.run.makespan));
  }
  if (!same(order.span, made.run.span)) {
    return different("a span of", order.span, simulated(made.run.span));
  }
  const std::int64_t peak = *std::max_element(made.run.peaks.begin(), made.run.peaks.end());
  return peak == order.peak ? "" : different("a peak of", order.peak, static_cast<double>(peak));
}

// Empty: no bound is above what the order takes.
std::string refuted_bound(const Claim& claim, const simulate::TimingOptions& times,
                          const Certified& made) {
  const bool wall = claim.objective == Objective::wall;
  const std::int64_t value = wall ? claim.order.wall : claim.order.span;
  if (claim.bound.value > value) {
    return fmt::format("it takes {}, which is below the bound {} ({})", value, claim.bound.value,
                       claim.bound.by);
  }
  Bound general;
  const core::Status s =
      lower_bound(made.program, claim.problem.microbatches, times, claim.objective, general);
  if (!s.ok()) return "bounds of its program: " + s.message();
  const std::int64_t taken = (wall ? made.run.makespan : made.run.span).count();
  if (general.value <= taken) return "";
  return fmt::format("it takes {} ns, which is below the bound {} ns of its program ({})", taken,
                     general.value, general.by);
}

}  // namespace

spec::Result<Certified> certified(const Claim& claim, const std::vector<std::string>& comments) {
  const Uniform& problem = claim.problem;
  Certified made;
  const auto tree =
      spec::parse({"optimised", program_text(problem, claim.order, claim.unit, comments)});
  if (!tree.ok()) return defect("the program that was found does not parse");
  made.text = spec::print(tree.value());
  auto program = spec::compile({"optimised", made.text});
  if (!program.ok()) {
    return defect("the program that was found: " + program.errors().front().message);
  }
  made.program = std::move(program).value();
  made.verdict = verify::verify(made.program);
  if (!made.verdict.proved) return defect("the order that was found is not proved");
  made.facts = lower::facts_of(*made.verdict.proved);
  simulate::TimingOptions times;
  times.latency = static_cast<double>(problem.latency) / static_cast<double>(claim.unit);
  if (const core::Status s =
          simulate::Timing::make(made.program, problem.microbatches, times, made.timing);
      !s.ok()) {
    return defect("times of the order that was found: " + s.message());
  }
  simulate::Simulator simulator(made.facts.facts(), [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(made.program, made.facts.facts(), rank);
  });
  made.run = simulator.run(problem.microbatches, made.timing,
                           {.record = &made.record, .causes = true, .sequential_ops = {}});
  for (const std::string& lie : {difference(claim, made), refuted_bound(claim, times, made)}) {
    if (!lie.empty()) return defect("the order that was found: " + lie);
  }
  return made;
}

}  // namespace ripeline::optimise
