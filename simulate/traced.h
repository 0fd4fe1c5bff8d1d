// The description of a program's run in a trace, and other data that pictures of the run need. Pure
// functions.
#pragma once

#include <functional>
#include <vector>

#include "core/task.h"
#include "simulate/report.h"
#include "simulate/timing.h"
#include "spec/machine.h"
#include "spec/program.h"
#include "trace/about.h"
#include "trace/record.h"

namespace ripeline::simulate {

// The description, for a trace, of a run with these times.
[[nodiscard]] trace::RunInfo run_of(const spec::Program& program, const Timing& timing,
                                    int microbatches,
                                    trace::Source source = trace::Source::simulated);
// The part of a trace that precedes its records.
[[nodiscard]] trace::About about_of(const ReportedRun& reported);

// The work of the busiest rank's compute engine, by mean costs, in the unit.
[[nodiscard]] double most_work(const spec::Program& program, int microbatches,
                               const Timing& timing);

// By rank and engine, a committed order's first task that has not run; empty for other dispatches.
[[nodiscard]] std::vector<core::Task> next_in_orders(
    const spec::Program& program, int microbatches,
    const std::function<bool(core::Task task)>& has_run);

// Adds times, from the program's costs, to a run without times, such as one that refutes a program.
// A rank's events keep their order, a message arrives when its producer has ended, and nothing else
// is waited for.
[[nodiscard]] trace::Record record_by_costs(const spec::Program& program, const Timing& timing,
                                            const std::vector<spec::Event>& events);

}  // namespace ripeline::simulate
