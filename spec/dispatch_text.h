// A program's dispatch as text: `in order one_f_one_b`, `ready by bf keeping zb`, in the form of
// the option --dispatch (spec/elaborate/collect.cpp reads it). Pure function.
#pragma once

#include <string>

#include "spec/program.h"

namespace ripeline::spec {

[[nodiscard]] std::string dispatch_text(const Program& program);

}  // namespace ripeline::spec
