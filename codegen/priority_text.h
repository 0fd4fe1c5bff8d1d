// A hint by priorities, in the generated text: the value of a task.
//
// Private to codegen/. Pure functions; the other two are of a program that has_priorities().
#pragma once

#include <string>

#include "codegen/outline.h"

namespace ripeline::codegen {

[[nodiscard]] bool has_priorities(const spec::Program& program);
// The table that it reads: stages by rank. Empty if it reads none.
[[nodiscard]] std::string priority_table(const Outline& outline);
// The member of Rules.
[[nodiscard]] std::string priority_rule(const Outline& outline);

}  // namespace ripeline::codegen
