// The assumptions that a verdict on a program rests on, in sentences; printed with it.
#pragma once

#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

[[nodiscard]] std::vector<std::string> assumptions_of(const spec::Program& program);

}  // namespace ripeline::verify
