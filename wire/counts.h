// For which microbatch counts an order's sends and receives are judged. Pure; never throws.
#pragma once

#include <string>

#include "spec/program.h"
#include "wire/layouts.h"

namespace ripeline::verify {

// Sets `counts`; or says why the program cannot be judged on the wire.
[[nodiscard]] std::string wire_counts(const spec::Program& program, WireCounts& counts);

}  // namespace ripeline::verify
