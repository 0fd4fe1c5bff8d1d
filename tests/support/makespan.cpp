#include "tests/support/makespan.h"

#include "tests/simulate/runs.h"

namespace ripeline {

std::optional<Makespan> makespan_of(const spec::Program& program, int microbatches,
                                    std::int64_t latency) {
  simulate::TimingOptions options;
  options.latency = static_cast<double>(latency);
  const simulate::RunReport run = testing_support::TableRun(program).run(microbatches, options);
  if (!run.status.ok() || run.stuck) return std::nullopt;
  const std::int64_t unit = simulate::plain_unit().nanoseconds;
  for (const core::Time time : {run.makespan, run.span, run.work}) {
    if (time.count() % unit != 0) return std::nullopt;
  }
  return Makespan{.makespan = run.makespan.count() / unit,
                  .span = run.span.count() / unit,
                  .work = run.work.count() / unit,
                  .peaks = run.peaks};
}

}  // namespace ripeline
