// Held: how amounts of a resource that a rank holds are counted, and the name of their unit.
//
// Both follow from a program's tables by the rule of core/vocabulary/per_rank.h. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/facts.h"

namespace ripeline::core {

// Whether amounts are activations, that is, the resource has no unit and tasks acquire at most one.
[[nodiscard]] bool counts_activations(const ProgramFacts& facts, std::string_view resource);

// The unit: `MiB`, or `activations of a stage`; empty if the resource's name suffices.
[[nodiscard]] std::string_view unit_of_amounts(const ProgramFacts& facts,
                                               std::string_view resource);

// Converts numbers of activations, one for each rank, to microbatches of the whole rank.
[[nodiscard]] std::vector<double> in_microbatches(const ProgramFacts& facts, int microbatches,
                                                  const std::vector<std::int64_t>& per_rank);

}  // namespace ripeline::core
