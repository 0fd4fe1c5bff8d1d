// A hint as straight code: what the arbiter takes of the tasks that are ready.
//
// Private to codegen/. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "codegen/outline.h"

namespace ripeline::codegen {

// The hint as the language writes it, in a sentence.
[[nodiscard]] std::string hint_title(const spec::Program& program);
// The body of choose().
[[nodiscard]] std::string hint_choice(const Outline& outline);
// The class's helpers of a hint that follows an order with fillers or patience.
[[nodiscard]] std::vector<std::string> waiting(const Outline& outline);

}  // namespace ripeline::codegen
