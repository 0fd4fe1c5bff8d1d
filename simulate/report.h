// The report of a simulated run, for people, programs and pandas.
//
// Pure functions of the run; times in the timing's unit.
#pragma once

#include <string>

#include "core/facts.h"
#include "simulate/simulator.h"
#include "spec/program.h"
#include "trace/record.h"

namespace ripeline::simulate {

struct ReportedRun {
  const spec::Program& program;
  const core::ProgramFacts& facts;
  int microbatches;
  const Timing& timing;
  const RunReport& run;
  const trace::Record& record;  // its tasks give peaks of per-stage resources, and tasks for CSV
  trace::Source source = trace::Source::simulated;
};

// Per resource, the most that each rank held at once over all its pools of the resource.
[[nodiscard]] std::vector<std::vector<std::int64_t>> peaks_by_rank(const ReportedRun& reported);

[[nodiscard]] std::string report_text(const ReportedRun& reported);
// The object of --format json (docs/formats.md); if `tasks`, with every task.
[[nodiscard]] std::string report_json(const ReportedRun& reported, bool tasks);
// A line for each task, after a line of names.
[[nodiscard]] std::string tasks_csv(const ReportedRun& reported);

}  // namespace ripeline::simulate
