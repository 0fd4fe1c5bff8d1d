// The report of a simulated run, for people, programs and pandas.
//
// Pure functions of the run. Times are in the timing's unit.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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
  const trace::Record& record;  // its tasks give peaks of per-stage resources, and the CSV's rows
  trace::Source source = trace::Source::simulated;
};

// Per resource, the most that each rank held at once over all its pools of that resource.
[[nodiscard]] std::vector<std::vector<std::int64_t>> peaks_by_rank(const ReportedRun& reported);

[[nodiscard]] std::string report_text(const ReportedRun& reported);
// The object for --format json (docs/formats.md); with `tasks`, it includes every task.
[[nodiscard]] nlohmann::json report_json(const ReportedRun& reported);
// The tasks as CSV: a header line, then a line for each task.
[[nodiscard]] std::string tasks_csv(const ReportedRun& reported);

}  // namespace ripeline::simulate
