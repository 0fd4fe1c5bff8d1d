// The steps of a trace: lists them, and selects a range of them.
//
// A training run has many steps, numbered from 0 in the order in which they ran; a simulated or
// emulated run has one. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/read.h"

namespace ripeline::trace {

// The steps from first to last, inclusive.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  [[nodiscard]] bool has(std::int64_t step) const { return step >= first && step <= last; }
  bool operator==(const StepRange&) const = default;
};

struct Step {
  std::int64_t number = 0;
  bool is_whole = false;  // every task of the program ran, for the step's number of microbatches
  bool operator==(const Step&) const = default;
};

// The steps in which a task ran, ascending.
[[nodiscard]] std::vector<Step> steps_of(const File& file);
// Drops all events of other steps.
void keep_steps(Record& record, StepRange range);

}  // namespace ripeline::trace
