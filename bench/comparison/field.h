// The contenders and conditions of a comparison, for a number of ranks and members.
//
// Programs, entrants and conditions are those of bench_hints (bench/hints.h, bench/rrfp.h). Throws
// std::runtime_error if a program is not proved, or if a hint that should have the memory of a
// fixed order may hold more or less than that order on some rank. Values.
#pragma once

#include <string>
#include <vector>

#include "bench/comparison/processes.h"

namespace ripeline::bench::comparison {

// A fixed order, or a hint that is compared with a fixed order of the same field.
struct Contender {
  std::string against;  // the name of that fixed order; a fixed order has its own name here
  bool limit = false;   // true: may hold 32 activations per stage (RRFP); false: as `against`
  Subject subject;

  [[nodiscard]] bool is_fixed() const { return subject.name() == against; }
};

// The contenders. With several members per rank there are fewer hints. Hints that wait agree by the
// leader; each other hint competes twice: by intersection and, as in RRFP, by vote.
[[nodiscard]] std::vector<Contender> field_of(int ranks, int members);

struct Latencies {
  double message = 0.05;
  double ballot = 0.01;  // among the members of a rank
};
// The conditions whose names contain `part`: first RRFP's, then the late messages and the costs of
// inputs in the tables of bench_hints.
[[nodiscard]] std::vector<Condition> conditions_of(const Latencies& latencies,
                                                   const std::string& part);

}  // namespace ripeline::bench::comparison
