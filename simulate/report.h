// What a simulated run was, for people, programs and pandas.
//
// Pure functions of the run; times in the timing's unit.
#pragma once

#include <string>

#include "core/facts.h"
#include "simulate/simulator.h"
#include "spec/program.h"
#include "trace/record.h"

namespace ripeline::simulate {

struct Reported {
  const spec::Program& program;
  const core::ProgramFacts& facts;
  int microbatches;
  const Timing& timing;
  const RunReport& run;
  const trace::Record& record;  // its tasks: for peaks of what is per stage, tasks and CSV
  trace::Source source = trace::Source::simulated;
};

// Per resource the most that each rank held at once, over all its pools of it.
[[nodiscard]] std::vector<std::vector<std::int64_t>> peaks_by_rank(const Reported& reported);

[[nodiscard]] std::string report_text(const Reported& reported);
// The object of --format json (docs/formats.md); `tasks`: with every task.
[[nodiscard]] std::string report_json(const Reported& reported, bool tasks);
// A line for each task, after a line of names.
[[nodiscard]] std::string tasks_csv(const Reported& reported);

}  // namespace ripeline::simulate
