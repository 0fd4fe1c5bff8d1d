// Writes a hint by priorities as C++: the function that gives a task its value.
//
// Private to codegen/. Pure functions; the last two require has_priorities().
#pragma once

#include <string>

#include "codegen/outline.h"

namespace ripeline::codegen {

[[nodiscard]] bool has_priorities(const spec::Program& program);
// The table that the function reads: stages by rank. Empty if it reads none.
[[nodiscard]] std::string priority_table(const Outline& outline);
// The member of Rules that calculates a priority.
[[nodiscard]] std::string priority_rule(const Outline& outline);

}  // namespace ripeline::codegen
