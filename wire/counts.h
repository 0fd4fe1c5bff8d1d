// The microbatch counts for which an order's sends and receives can be judged. Pure; never throws.
#pragma once

#include <optional>
#include <string>

#include "spec/program.h"
#include "wire/layouts.h"

namespace ripeline::wire {

struct JudgedCounts {
  WireCounts counts;                   // if the program's sends and receives have a fixed order
  std::optional<std::string> problem;  // the reason if the program cannot be judged on the wire
};
[[nodiscard]] JudgedCounts wire_counts(const spec::Program& program);

}  // namespace ripeline::wire
