// verify: Program to Verdict.
//
// Five obligations, each proved, refuted or unknown:
//   deadlock     the program does not stick, for every timing, every choice among the tasks that
//                may start and every microbatch count in range
//   collectives  the members of a tensor-parallel group issue the same ones in the same order
//   messages     each has one producer and one consumer, and its link's order and slots suffice
//   memory       no resource exceeds its capacity, no `assert peak` fails
//   once         every task runs exactly once
// Proved holds for any choice among the tasks that may start, hence for every hint and timing.
// Refuted comes with a run that the program's own dispatch makes under some timing, replayed by
// spec/machine.h before it is reported. Unknown is everything else, with the reason; it never
// counts as passed. Limits are counted in solver steps and explored states, never in seconds, so
// that a loaded machine gives the same verdict; a program of at most 12 lanes has lower ones,
// unless more than the usual ones are asked for. Throws nothing but std::bad_alloc. Thread-safe: no
// shared state.
#pragma once

#include <cstdint>

#include "spec/program.h"
#include "verify/verdict.h"

namespace ripeline::verify {

struct VerifyOptions {
  // Z3's rlimit for each query, halved for the queries after one that gave up; 0: no limit. Up to
  // 12 lanes a limit that is no larger than this one is 1,000,000 at most.
  std::uint64_t solver_steps = 50'000'000;
  // States that a search for a run may visit, in all; up to 12 lanes likewise 200,000 at most.
  std::uint64_t search_states = 2'000'000;
  // Without: readiness-first, where counters are exact and more than 8 numbers of microbatches are
  // in range, no run is looked for, and what would be refuted may be unknown. For a caller that
  // asks only whether a program is proved.
  bool find_runs = true;
};

[[nodiscard]] Verdict verify(const spec::Program& program, const VerifyOptions& options = {});

}  // namespace ripeline::verify
