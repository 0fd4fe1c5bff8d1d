// The assumptions on which a verdict on a program rests, as sentences for its report.
#pragma once

#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

[[nodiscard]] std::vector<std::string> assumptions_of(const spec::Program& program);

}  // namespace ripeline::verify
