// A hint by priorities, in the generated text: the value of a task, and what compares tasks.
//
// Private to codegen/. Pure functions; these of a program that has_priorities().
#pragma once

#include <string>
#include <vector>

#include "codegen/outline.h"

namespace ripeline::codegen {

[[nodiscard]] bool has_priorities(const spec::Program& program);
// Whether the arbiter must know how many microbatches the step has: step_.microbatches.
[[nodiscard]] bool priority_reads_count(const Outline& outline);
// The class's helpers. `lane` is the lane of `op` at the chunk of turn i; `checks` says whether
// `lane` may be looked at.
[[nodiscard]] std::vector<std::string> priority_helpers(const Outline& outline,
                                                        const std::string& lane,
                                                        const std::string& checks);
// What comes before what the hint does not list, in choose(); `more`: something does.
[[nodiscard]] std::string priority_choice(const Outline& outline, bool more);

}  // namespace ripeline::codegen
