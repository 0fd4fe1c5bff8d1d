// The dispatch as constexpr tables: the places of a hint, and how they are read.
//
// Private to codegen/. Pure functions.
#pragma once

#include <string>

#include "codegen/outline.h"
#include "core/facts.h"

namespace ripeline::codegen {

// kPlaces and kFill, under the hint as the language writes it.
[[nodiscard]] std::string place_tables(const Outline& outline, const core::ProgramFacts& facts);
// Its part of the facts; empty where they have nothing to say.
[[nodiscard]] std::string dispatch_facts(const core::DispatchFacts& dispatch);

}  // namespace ripeline::codegen
