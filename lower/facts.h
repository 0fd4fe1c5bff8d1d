// facts_of: a Program as the tables that executors use.
//
// The one lowering: codegen/ prints what it returns as a generated file's tables, simulate/ runs
// it. Pure; the result owns what it views.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/owned_facts.h"
#include "spec/program.h"
#include "verify/proved_program.h"

namespace ripeline::lower {

// The facts of an unproved program.
[[nodiscard]] core::OwnedFacts facts_of(const spec::Program& program);
// Likewise, with the bounds that were proved of its pools.
[[nodiscard]] core::OwnedFacts facts_of(const verify::ProvedProgram& proved);
// Likewise, as if these bounds, one for each pool, had been proved.
[[nodiscard]] core::OwnedFacts facts_with_bounds_for_testing(
    const spec::Program& program, const std::vector<std::optional<std::int64_t>>& bounds);

}  // namespace ripeline::lower
