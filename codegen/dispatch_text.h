// The dispatch as constexpr tables: a hint's places and rule.
//
// Private to codegen/. Pure functions.
#pragma once

#include <string>

#include "codegen/outline.h"
#include "core/facts.h"

namespace ripeline::codegen {

// kPlaces and kFill, after a comment with the hint as the language writes it.
[[nodiscard]] std::string place_tables(const Outline& outline, const core::ProgramFacts& facts);
// The dispatch's part of the facts; empty if it has only default values.
[[nodiscard]] std::string dispatch_facts(const core::DispatchFacts& dispatch);

}  // namespace ripeline::codegen
