// check_run: whether a recorded run is a run of the program that was proved.
//
// Each step of the trace is replayed on spec::Machine (validate/step_check.h), which knows the
// rules for events. Two rules are added here: a rank ends a step before it starts the next one, and
// no part of a step is missing. Pure functions; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"
#include "trace/read.h"
#include "validate/step_check.h"

namespace ripeline::validate {

enum class RunOutcome : std::uint8_t {
  run,        // every step is complete
  beginning,  // the trace is correct, but the run's end is cut off
  refuted,    // the trace is not of a run; `wrong` says why
  unknown,    // the trace does not decide; `reason` says why
};
// The step that is wrong, and the reason.
struct WrongStep {
  std::int64_t step = 0;
  std::size_t led = 0;    // events of the step that were replayed
  std::size_t all = 0;    // events of the step
  std::string what = {};  // one sentence; empty if `blocked` has the reason
  std::vector<Blocked> blocked = {};
};

struct RunCheck {
  RunOutcome outcome = RunOutcome::unknown;
  std::string reason;  // for beginning and unknown: one sentence
  std::optional<WrongStep> wrong;
  std::int64_t steps = 0;           // replayed from beginning to end
  std::int64_t fewer = 0;           // those with fewer microbatches than the largest step
  std::vector<std::int64_t> peaks;  // by pool, over all steps
  std::vector<std::string> assumptions;
};

// The reason if the trace is of another program or has no step of this one; otherwise nullopt.
[[nodiscard]] std::optional<std::string> why_not_of(const spec::Program& program,
                                                    const trace::About& about);

// `ended` is true if the run wrote one file for all ranks at its end, in which no event may be
// missing. Otherwise the last events of each rank may be missing.
[[nodiscard]] RunCheck check_run(const spec::Program& program, const trace::File& file, bool ended);

}  // namespace ripeline::validate
