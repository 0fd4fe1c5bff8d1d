// The class of a generated header that implements core::Arbiter.
//
// What all arbiters share is in core/ready_rows.h; what differs from program to program is written
// here. Private to codegen/. Pure function.
#pragma once

#include <string>

#include "codegen/outline.h"

namespace ripeline::codegen {

// `name`: of the program's namespace, by which the class calls itself.
[[nodiscard]] std::string arbiter(const Outline& outline, const std::string& name);

}  // namespace ripeline::codegen
