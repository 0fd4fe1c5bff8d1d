// The generated arbiters of testing_support::sticking_programs(), in the same order, as `generate
// --unproved` writes them. tests/generated/write_stuck.cpp writes the file that defines them.
#pragma once

#include <memory>
#include <vector>

#include "core/arbiter.h"

namespace ripeline::testing_support {

using MakeArbiter = std::unique_ptr<core::Arbiter> (*)(int rank);

[[nodiscard]] std::vector<MakeArbiter> stuck_arbiters();

}  // namespace ripeline::testing_support
