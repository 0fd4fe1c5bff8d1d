// Which steps of a trace: N or N..M, in the numbers of the trace.
//
// Where none is asked for it is one step: the last that ran as a whole, since the first ones of
// training take memory and load kernels, and the end of a run may be cut off. A note says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "spec/diagnostics.h"
#include "trace/steps.h"

namespace ripeline::load {

// The step's number that the text is; nothing: it is none.
[[nodiscard]] std::optional<std::int64_t> step_number(std::string_view text);
// Errors: it is neither form, without the name of the option.
[[nodiscard]] spec::Result<trace::StepRange> steps_in(const std::string& text);

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

}  // namespace ripeline::load
