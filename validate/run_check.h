// check_run: whether a recorded run is a run of the program that was proved.
//
// The trace is led through spec::Machine, step by step (validate/step_check.h); nothing here knows
// a rule of its own, but that a rank does one step after the other and that all of a step is there.
// Pure functions; one thread.
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
  run,        // every step, from its beginning to its end
  beginning,  // so far, of a run whose end is cut off
  refuted,    // it is not: `wrong`
  unknown,    // the trace leaves it open: `reason`
};
// The step that is wrong, and why.
struct WrongStep {
  std::int64_t step = 0;
  std::size_t led = 0;    // events of the step before
  std::size_t all = 0;    // events of the step
  std::string what = {};  // one sentence; empty: `blocked` says it
  std::vector<Blocked> blocked = {};
};

struct RunCheck {
  RunOutcome outcome = RunOutcome::unknown;
  std::string reason;  // for beginning and unknown: one sentence
  std::optional<WrongStep> wrong;
  std::int64_t steps = 0;           // led from beginning to end
  std::int64_t fewer = 0;           // those among them with fewer microbatches than the trace says
  std::vector<std::int64_t> peaks;  // by pool, over all steps
  std::vector<std::string> assumptions;
};

// Why the trace is of another program, or has no step of this one.
[[nodiscard]] std::optional<std::string> why_not_of(const spec::Program& program,
                                                    const trace::About& about);

// `ended`: the run has written one file of all ranks when it ended, of which nothing may be
// missing; else the end of what each rank did is.
[[nodiscard]] RunCheck check_run(const spec::Program& program, const trace::File& file, bool ended);

}  // namespace ripeline::validate
