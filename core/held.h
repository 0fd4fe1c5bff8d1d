// Held: how what a rank holds of a resource is counted and called, of a program's tables.
//
// The rule is that of core/vocabulary/per_rank.h. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/facts.h"

namespace ripeline::core {

// Whether it counts activations of stages: it has no unit, and no task acquires more than one.
[[nodiscard]] bool counts_activations(const ProgramFacts& facts, std::string_view resource);

// `MiB`, or `activations of a stage`; empty: the name of the resource says it all.
[[nodiscard]] std::string_view unit_of_amounts(const ProgramFacts& facts,
                                               std::string_view resource);

// Activations that the ranks hold, in microbatches of the whole rank.
[[nodiscard]] std::vector<double> in_microbatches(const ProgramFacts& facts, int microbatches,
                                                  const std::vector<std::int64_t>& per_rank);

}  // namespace ripeline::core
