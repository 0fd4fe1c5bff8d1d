// One fault, injected into one run.
#pragma once

#include <cstdint>
#include <string>

#include "tests/runtime/faults/fault_kinds.h"

namespace ripeline::faults {

struct FaultReport {
  std::string skipped;  // why the system does not permit this kind; empty: it was injected
  std::string problem;  // what did not hold, with all that was said; empty: nothing
  bool hung = false;
  bool left = false;   // something was left behind
  double seconds = 0;  // until the launcher had ended
  // Where one rank is to blame. Survivors are all other ranks that had begun to run: those that
  // said so, by `pid N`, with which a rank can say why it ends. Named it have those whose first
  // line after that, other than on how far they are, names the rank. Who says nothing has not.
  int survivors = 0;
  int named = 0;
  std::string unnamed;  // what the first lines of the others were
};

// Ranks, tasks and moments are drawn from `seed`. Needs the programs `ripeline` and toy_rank, and
// /proc. From any thread.
FaultReport inject(const FaultKind& kind, std::uint64_t seed);

// Whether what runs leave in shared memory is seen: every run has a /dev/shm of its own.
[[nodiscard]] bool sees_shared_memory();

}  // namespace ripeline::faults
