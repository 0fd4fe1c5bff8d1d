// What a task finds, acquires and releases, as function templates over their number type: the
// arbiter runs them on integers, `ripeline validate` on formulas.
//
// Private to codegen/. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "codegen/outline.h"

namespace ripeline::codegen {

// The admission guards of all ops, and what their tasks acquire and release. An empty text without
// has_guards(): where no resource is bounded, nothing is guarded.
[[nodiscard]] std::string guards(const Outline& outline);
[[nodiscard]] bool has_guards(const Outline& outline);
// Whether room is kept for the rest of an order; not where there is always room.
[[nodiscard]] bool has_kept_order(const Outline& outline);

// Statements to run for the tasks of some ops only, `id` being the task's lane.
using ByOp = std::vector<std::vector<std::string>>;
[[nodiscard]] std::string by_op(const spec::Program& program, const char* id,
                                const ByOp& statements);

}  // namespace ripeline::codegen
