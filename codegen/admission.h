// The room that a task needs, and what it acquires and releases, as function templates over their
// number type: the arbiter runs them on integers, `ripeline validate` on formulas.
//
// Private to codegen/. Pure functions.
#pragma once

#include <string>

#include "codegen/outline.h"

namespace ripeline::codegen {

// Whether some resource is bounded: else nothing is guarded.
[[nodiscard]] bool has_guards(const Outline& outline);
// The admission guard of each op; empty without has_guards().
[[nodiscard]] std::string guards(const Outline& outline);
// The members of Rules that ask them: has_room(), acquire() and release(); only with has_guards().
[[nodiscard]] std::string room_rules(const Outline& outline);

}  // namespace ripeline::codegen
