// One fault, injected into one run.
#pragma once

#include <cstdint>
#include <string>

#include "tests/runtime/faults/fault_kinds.h"

namespace ripeline::faults {

struct FaultReport {
  std::string problem;  // what did not hold, with all that was said; empty: nothing
  double seconds = 0;   // until the launcher had ended
  // Where one rank is to blame: of the ranks that could speak, those that did, and those whose
  // first line of the failure names it.
  int survivors = 0;
  int spoke = 0;
  int named = 0;
};

// Ranks, tasks and moments are drawn from `seed`. Needs the programs `ripeline` and toy_rank, and
// /proc.
FaultReport inject(const FaultKind& kind, std::uint64_t seed);

}  // namespace ripeline::faults
