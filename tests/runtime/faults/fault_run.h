// One fault, injected into one run.
#pragma once

#include <cstdint>
#include <string>

#include "tests/runtime/faults/fault_kinds.h"

namespace ripeline::faults {

struct FaultReport {
  std::string skipped;  // why the system does not permit this kind; empty: it was injected
  std::string problem;  // the checks that failed, with all output; empty: none
  bool hung = false;
  bool left = false;   // something was left behind
  double seconds = 0;  // until the launcher had ended
  // Set where one rank is to blame. Survivors are all other ranks that had begun to run: they said
  // `pid N`, after which a rank can say why it ends. A survivor has named the rank if its first
  // line after that, other than on how far it is, mentions it; a silent survivor has not.
  int survivors = 0;
  int named = 0;
  std::string unnamed;  // first lines of the other survivors
};

// Ranks, tasks and moments are drawn from `seed`. Needs the programs `ripeline` and toy_rank, and
// /proc. From any thread.
FaultReport inject(const FaultKind& kind, std::uint64_t seed);

// Whether what runs leave in shared memory is seen: every run has a /dev/shm of its own.
[[nodiscard]] bool sees_shared_memory();

}  // namespace ripeline::faults
