// ProgramFacts as constexpr tables, and the numbers that differ between stages or ranks.
//
// The facts are those of lower/facts.h, so that a generated header and the simulator know the same
// of a program. Private to codegen/. Pure functions.
#pragma once

#include <string>

#include "codegen/outline.h"
#include "core/facts.h"

namespace ripeline::codegen {

// kFacts and the tables that it refers to.
[[nodiscard]] std::string tables(const Outline& outline, const core::ProgramFacts& facts);
// The tables that guards and effects look up (number_table() names them): capacities, and amounts
// that are not the same wherever an op is.
[[nodiscard]] std::string number_tables(const Outline& outline);

}  // namespace ripeline::codegen
