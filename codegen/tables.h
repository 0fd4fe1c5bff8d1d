// Writes ProgramFacts as constexpr tables, and tables of numbers that differ by stage or rank.
//
// The facts are those of lower/facts.h, so that a generated header and the simulator have the same
// facts. Private to codegen/. Pure functions.
#pragma once

#include <string>

#include "codegen/outline.h"
#include "core/facts.h"

namespace ripeline::codegen {

// kFacts, and the tables that it views.
[[nodiscard]] std::string tables(const Outline& outline, const core::ProgramFacts& facts);
// The tables that guards and effects read (number_table() names them): capacities, and amounts that
// differ between the stages of an op.
[[nodiscard]] std::string number_tables(const Outline& outline);

}  // namespace ripeline::codegen
