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

// In nanoseconds of the timing, times `unit`.
std::int64_t clock_of(std::int64_t time, const simulate::Timing& timing) {
  return time * timing.unit().nanoseconds;
}

std::string different(const char* what, std::int64_t searched, std::int64_t simulated) {
  return fmt::format("the search says {0} {1}, and the simulator says {2}", what, searched,
                     simulated);
}

// Empty: the simulator says what the search says.
std::string difference(const FoundOrder& found, std::int64_t unit, const Certified& made) {
  const auto times = [&](core::Time time) { return time.count() * unit; };
  if (!made.run.status.ok()) return "the simulator: " + made.run.status.message();
  if (made.run.stuck) return "the simulated run deadlocks: " + made.run.waiting;
  if (times(made.run.makespan) != clock_of(found.wall, made.timing)) {
    return different("a wall of", clock_of(found.wall, made.timing), times(made.run.makespan));
  }
  if (times(made.run.span) != clock_of(found.span, made.timing)) {
    return different("a span of", clock_of(found.span, made.timing), times(made.run.span));
  }
  const std::int64_t peak = *std::max_element(made.run.peaks.begin(), made.run.peaks.end());
  return peak == found.peak ? "" : different("a peak of", found.peak, peak);
}

}  // namespace

spec::Result<Certified> certified(const Uniform& problem, const FoundOrder& found,
                                  std::int64_t unit, const std::vector<std::string>& comments) {
  Certified made;
  const auto tree = spec::parse({"optimised", program_text(problem, found, unit, comments)});
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
  times.latency = static_cast<double>(problem.latency) / static_cast<double>(unit);
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
  const std::string difference = optimise::difference(found, unit, made);
  if (!difference.empty()) return defect("the order that was found: " + difference);
  return made;
}

}  // namespace ripeline::optimise
