// The units of the amounts of a program's resources, by the rule of core/vocabulary/per_rank.h.
// Pure functions.
#pragma once

#include <string_view>

#include "spec/program.h"

namespace ripeline::spec {

// Whether amounts are activations, that is, the resource has no unit and tasks acquire at most one.
[[nodiscard]] bool counts_activations(const Program& program, int resource);

// The unit: `MiB`, or `activations of a stage`; empty if the resource's name suffices.
[[nodiscard]] std::string_view unit_of_amounts(const Program& program, int resource);

// Whether some rank has several pools of the resource.
[[nodiscard]] bool is_split(const Program& program, int resource);

}  // namespace ripeline::spec
