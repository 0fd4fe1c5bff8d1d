// verify: judges a Program and returns a Verdict.
//
// Five obligations, each proved, refuted or unknown:
//   deadlock     the program does not stick, for every timing, every choice among the tasks that
//                may start and every microbatch count in range
//   collectives  the members of a tensor-parallel group issue the same collectives in one order
//   messages     each message has one producer and one consumer; its link's order and slots suffice
//   memory       no resource exceeds its capacity, no `assert peak` fails
//   once         every task runs exactly once
// A proof holds for any choice among the tasks that may start, hence for every hint and timing. A
// refutation has a run that the program's own dispatch makes under some timing, replayed by
// spec/machine.h before it is reported. Other obligations are unknown, with a reason; unknown never
// counts as passed. Limits are counted in solver steps and explored states, never in seconds, so
// that a loaded machine gives the same verdict; a program of at most 12 lanes has lower limits,
// unless the caller asks for more than the usual ones. Throws nothing but std::bad_alloc, and
// spec::Stopped if the work is stopped (spec/long_work.h). Thread-safe: no shared state.
#pragma once

#include <cstdint>

#include "spec/program.h"
#include "verify/verdict.h"

namespace ripeline::verify {

struct VerifyOptions {
  // Z3's rlimit for each query, halved after each query that gave up; 0 means no limit. For
  // programs of up to 12 lanes, limits up to this default are cut to 1,000,000.
  std::uint64_t solver_steps = 50'000'000;
  // The states that searches may visit in all; likewise cut to 200,000 for up to 12 lanes.
  std::uint64_t search_states = 2'000'000;
  // If false, no run is searched for where dispatch is ready, counters are exact and more than 8
  // microbatch counts are in range; a program that a run would refute may then be unknown. For
  // callers that ask only whether a program is proved.
  bool find_runs = true;
};

[[nodiscard]] Verdict verify(const spec::Program& program, const VerifyOptions& options = {});

}  // namespace ripeline::verify
