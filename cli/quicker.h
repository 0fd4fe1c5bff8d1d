// Advice for a user whose proof takes long: what to ask instead, as a sentence for Progress.
#pragma once

#include <string>

#include "spec/program.h"

namespace ripeline::cli {

// Empty: nothing that is known to be quicker.
[[nodiscard]] std::string quicker_than(const spec::Program& program);

}  // namespace ripeline::cli
