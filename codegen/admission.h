// The room that a task needs, and what it acquires and releases, as function templates over their
// number type: the arbiter runs them on integers, `ripeline validate` on formulas.
//
// Private to codegen/. Pure functions.
#pragma once

#include <string>

#include "codegen/outline.h"

namespace ripeline::codegen {

// Whether some resource has a capacity; if not, starts need no guard.
[[nodiscard]] bool has_guards(const Outline& outline);
// The text of the admission guard of each op; empty without has_guards().
[[nodiscard]] std::string guards(const Outline& outline);
// The members of Rules that call the guards, has_room(), acquire(), release(); with has_guards().
[[nodiscard]] std::string room_rules(const Outline& outline);

}  // namespace ripeline::codegen
