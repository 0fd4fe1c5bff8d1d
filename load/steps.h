// The steps of a trace that a user chooses: N or N..M, in the numbers of the trace.
//
// If the user names none, the last step that ran completely is chosen, with a note. The first steps
// of training allocate memory and load kernels, and the end of a run may be cut off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "spec/diagnostics.h"
#include "trace/steps.h"

namespace ripeline::load {

// Parses the text as the number of a step; nullopt if it is not one.
[[nodiscard]] std::optional<std::int64_t> step_number(std::string_view text);
// Fails if the text has neither form; the error does not name the option.
[[nodiscard]] spec::Result<trace::StepRange> steps_in(const std::string& text);

struct ChosenSteps {
  trace::StepRange range;
  bool of_several = false;                 // whether the trace has several steps
  std::string note = {};                   // for people, if the user named no steps; may be empty
  [[nodiscard]] std::string text() const;  // `step 9`, `steps 3..5`
};
// Fails for a step that the trace, called `title`, does not have.
[[nodiscard]] spec::Result<ChosenSteps> choose_steps(const trace::File& file,
                                                     const std::optional<trace::StepRange>& steps,
                                                     const std::string& title);

}  // namespace ripeline::load
