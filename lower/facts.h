// facts_of: makes from a Program the tables that executors use.
//
// Programs become tables only here: codegen/ prints the tables into a generated file, and simulate/
// runs them. Pure; the result owns all the data to which its views refer.
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
// The facts of a proved program, with the bounds that were proved for its pools.
[[nodiscard]] core::OwnedFacts facts_of(const verify::ProvedProgram& proved);
// The facts of a program as if these bounds, one for each pool, had been proved.
[[nodiscard]] core::OwnedFacts facts_with_bounds_for_testing(
    const spec::Program& program, const std::vector<std::optional<std::int64_t>>& bounds);

}  // namespace ripeline::lower
