// The trace of a program's run: how it describes the run, and what a picture needs beside it. Pure
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

// A trace's description of a run with these times.
[[nodiscard]] trace::Run run_of(const spec::Program& program, const Timing& timing,
                                int microbatches, trace::Source source = trace::Source::simulated);
// All that a trace says before its records.
[[nodiscard]] trace::About about_of(const ReportedRun& reported);

// The most work that any rank has on its compute engine, by mean costs, in the unit.
[[nodiscard]] double most_work(const spec::Program& program, int microbatches,
                               const Timing& timing);

// The first task that has not run, per rank and engine, in a committed order; else none.
[[nodiscard]] std::vector<core::Task> next_in_orders(
    const spec::Program& program, int microbatches,
    const std::function<bool(core::Task task)>& has_run);

// A run without times, such as one that refutes a program, with the costs for times: a rank's
// events keep their order, a message arrives when its producer has ended, and nothing waits for
// anything else.
[[nodiscard]] trace::Record record_by_costs(const spec::Program& program, const Timing& timing,
                                            const std::vector<spec::Event>& events);

}  // namespace ripeline::simulate
