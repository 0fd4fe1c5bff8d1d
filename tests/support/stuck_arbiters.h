// Generated arbiters of testing_support::sticking_programs(), in their order, as `generate
// --unproved` writes them. tests/generated/write_stuck.cpp writes the file that has them.
#pragma once

#include <vector>

#include "validate/probe/probe.h"

namespace ripeline::testing_support {

[[nodiscard]] std::vector<core::Probe> stuck_arbiters();

}  // namespace ripeline::testing_support
