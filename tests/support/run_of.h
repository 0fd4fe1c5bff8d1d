// Checks whether a record is a run of a program, for tests of everything that runs programs.
#pragma once

#include <string>

#include "trace/read.h"
#include "validate/run_check.h"
#include "validate/run_report.h"

namespace ripeline::testing_support {

// The trace file that a run with this record writes.
[[nodiscard]] inline trace::File file_of(const core::ProgramFacts& facts, int microbatches,
                                         trace::Record record) {
  return {.about = trace::About(facts, {.microbatches = microbatches}),
          .record = std::move(record)};
}

// All reasons why the record is not a run of the program; empty if it is one.
[[nodiscard]] inline std::string why_no_run(const spec::Program& program,
                                            const core::ProgramFacts& facts, int microbatches,
                                            const trace::Record& record) {
  const trace::File file = file_of(facts, microbatches, record);
  const validate::RunCheck check = validate::check_run(program, file, true);
  if (check.outcome == validate::RunOutcome::run) return {};
  return validate::report_text(program, file, "what ran", check);
}

}  // namespace ripeline::testing_support
