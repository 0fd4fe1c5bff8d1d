// Comparison: one random program, what verify says of it, and what visiting every state shows.
//
// compare() makes the program of a seed and holds every verdict against the oracle. `wrong` lists
// verdicts that do not hold: there must be none, ever. What verify leaves open is not wrong, but
// counted. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/random_program.h"
#include "verify/verify.h"

namespace ripeline::compare {

struct Options {
  // Sizes that the oracle can finish, with every feature that it knows.
  testing_support::RandomProgramOptions programs = {.max_ranks = 3,
                                                    .max_chunks = 2,
                                                    .max_microbatches = 3,
                                                    .max_tasks = 16,
                                                    .links = true,
                                                    .once = true,
                                                    .before = true,
                                                    .engines = true,
                                                    .keeping = true,
                                                    .shares = true,
                                                    .pairs = true,
                                                    .hints = true};
  // Enough for nearly all; what is left open is judged again.
  verify::VerifyOptions verify = {.solver_steps = 10'000'000, .search_states = 100'000};
  std::optional<verify::VerifyOptions> again = verify::VerifyOptions{};  // the product's limits
  std::size_t most_states = 60'000;  // visited by the oracle, for each count of microbatches
  int most_tasks = 14;               // in the counts that it visits, if the range goes on
  // Instead of verify(): a judge that errs, to see that this is noticed.
  std::function<verify::Verdict(const spec::Program&, const verify::VerifyOptions&)>
      faulty_judge_for_testing = {};
};

// The outcome of `deadlock`.
enum class Found : std::uint8_t {
  proved,
  refuted,
  through_hint,  // unknown: other choices than the dispatch's stick
  not_asked,     // unknown: the order does not list each task once
  open,          // unknown otherwise
  unsupported,   // unknown, for a construct that verify does not support yet
};

struct Seconds {
  double oracle = 0;
  double verify = 0;
};

struct Comparison {
  std::string text;
  std::vector<std::string> features;  // the program's, as features_of() names them, or "none"
  bool join = false;                  // a stage has several before it
  Found found = Found::open;
  bool visited = false;  // every count in range, completely
  std::string reason;    // why obligations are unknown
  bool missed = false;   // left open, though it can be told: `deadlock`, an assertion, `once`
  int loose = 0;         // proved peaks above the real ones
  int at_most = 0;       // those of which verify says no more than that they are bounds
  std::vector<std::string> wrong;
  Seconds seconds;
};

[[nodiscard]] Comparison compare(std::uint64_t seed, const Options& options);

}  // namespace ripeline::compare
