// Record: what the judge says of one program, as a JSON object.
//
// It holds all that a user is told, but for times and the solver's version, so that two records of
// the same judge are equal on every machine: of each obligation the outcome, the method, the reason
// and its place, the counts, the peaks, and of each run how many microbatches it has, whether these
// are the fewest, how many events, and hashes of its events and waits; then repairs and least
// capacities, where they are asked for. Empty fields are left out. Pure functions.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

#include "tests/compare/subjects.h"

namespace ripeline::compare {

// Counted, never timed. The same as compare_oracle has.
struct Limits {
  std::uint64_t solver_steps = 10'000'000;
  std::uint64_t search_states = 100'000;
};

[[nodiscard]] nlohmann::ordered_json record(const Subject& subject, const Limits& limits);

}  // namespace ripeline::compare
