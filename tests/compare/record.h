// Record: the judge's verdict on one program and two simulated runs of it, as a JSON object.
//
// A record holds all of the judge's output, except its times and the solver's version; so two
// records by the same judge are equal on every machine. Each obligation has its outcome, method,
// reason and position, counts and peaks. Each counterexample has its number of microbatches,
// whether that number is the fewest, its number of events, and hashes of its events and waits.
// The simulated runs, one with mean costs and one with random costs, have their makespans and
// peaks. If requested, repairs and least capacities follow. Empty fields are left out. Pure
// functions.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

#include "tests/compare/subjects.h"

namespace ripeline::compare {

// The limits count steps, not time. They are the same as those of compare_oracle.
struct Limits {
  std::uint64_t solver_steps = 10'000'000;
  std::uint64_t search_states = 100'000;
};

[[nodiscard]] nlohmann::ordered_json record(const Subject& subject, const Limits& limits);

}  // namespace ripeline::compare
