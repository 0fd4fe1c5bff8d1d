// Injects one fault into one run.
#pragma once

#include <cstdint>
#include <string>

#include "tests/runtime/faults/fault_kinds.h"

namespace ripeline::faults {

struct FaultReport {
  std::string skipped;  // why the system does not permit this kind; empty if it was injected
  std::string problem;  // the checks that failed, with all output; empty if none failed
  bool hung = false;
  bool left = false;   // the run left something behind
  double seconds = 0;  // from the launcher's start to its end
  // Set if one rank is to blame. Survivors are all other ranks that began to run: they printed `pid
  // N`, after which a rank can say why it ends. A survivor has named the rank to blame if its first
  // line after `pid N`, progress apart, mentions the rank; without such a line it has not.
  int survivors = 0;
  int named = 0;
  std::string unnamed;  // the first lines of the survivors that did not name the rank
};

// Draws ranks, tasks and moments from `seed`. Needs the programs `ripeline` and toy_rank, and
// /proc. Can be called from any thread.
FaultReport inject(const FaultKind& kind, std::uint64_t seed);

// Whether leftovers in shared memory can be seen, because every run has a /dev/shm of its own.
[[nodiscard]] bool sees_shared_memory();

}  // namespace ripeline::faults
