// Field: who is compared on so many ranks and members, and under which conditions.
//
// Programs, entrants and conditions are those of bench_hints (bench/hints.h, bench/rrfp.h). Throws
// std::runtime_error if a program is not proved, or if a hint that is to have a fixed order's
// memory may hold more or less, on some rank. Values.
#pragma once

#include <string>
#include <vector>

#include "bench/comparison/processes.h"

namespace ripeline::bench::comparison {

// A fixed order, or a hint that is measured against one of the same field.
struct Contender {
  std::string against;  // the fixed order's name; of a fixed order its own
  bool limit = false;   // 32 activations at every stage, as RRFP has; else the fixed order's memory
  Subject subject;

  [[nodiscard]] bool is_fixed() const { return subject.name() == against; }
};

// With several members to a rank, hints that wait agree by the leader; the others compete twice: by
// intersection and, as in RRFP, by vote. The field then has fewer hints.
[[nodiscard]] std::vector<Contender> field_of(int ranks, int members);

struct Latencies {
  double message = 0.05;
  double ballot = 0.01;  // among the members of a rank
};
// RRFP's, then late messages and costs of inputs as in the tables of hints; of these, the ones with
// `part` in their name.
[[nodiscard]] std::vector<Condition> conditions_of(const Latencies& latencies,
                                                   const std::string& part);

}  // namespace ripeline::bench::comparison
