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

// What is measured against one fixed order. The first contender of a field with this name is it.
struct Contender {
  std::string against;  // the fixed order's name, its own if it is one
  bool limit = false;   // RRFP's: 32 activations at every stage, not the fixed order's memory
  Subject subject;

  [[nodiscard]] bool is_fixed() const { return subject.name() == against; }
};

// With several members, the hints of one rank that have a way to agree: those that wait by the
// leader, others by intersection and, as RRFP does, by vote.
[[nodiscard]] std::vector<Contender> field_of(int ranks, int members);

struct Latencies {
  double message = 0.05;
  double ballot = 0.01;  // among the members of a rank
};
// RRFP's, and late messages and varying inputs as in the tables of hints; those that have `part` in
// their name.
[[nodiscard]] std::vector<Condition> conditions_of(const Latencies& latencies,
                                                   const std::string& part);

}  // namespace ripeline::bench::comparison
