// --step: which steps of a trace. It has the form of -m, N or N..M, and the numbers of the trace.
//
// Without it a command looks at one step: the last that ran as a whole, since the first ones of
// training take memory and load kernels, and the end of a run may be cut off. A note says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "spec/diagnostics.h"
#include "trace/steps.h"

namespace ripeline::cli {

void add_step_flag(CLI::App& command, std::optional<trace::StepRange>& steps);
// Which may be given several times.
void add_step_flag(CLI::App& command, std::vector<trace::StepRange>& steps);

// The step's number that the text is; nothing: it is none.
[[nodiscard]] std::optional<std::int64_t> step_number(std::string_view text);

struct ChosenSteps {
  trace::StepRange range;
  bool of_several = false;                 // the trace has more than one
  std::string note = {};                   // for people, of steps that nobody asked for; or empty
  [[nodiscard]] std::string text() const;  // `step 9`, `steps 3..5`
};
// Errors: a step that the trace, called `title`, does not have.
[[nodiscard]] spec::Result<ChosenSteps> choose_steps(const trace::File& file,
                                                     const std::optional<trace::StepRange>& steps,
                                                     const std::string& title);

}  // namespace ripeline::cli
