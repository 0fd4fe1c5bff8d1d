// Comparison: the verdict on one random program, compared with a visit of all its states.
//
// compare() makes the program of a seed and checks every verdict against the oracle. `wrong` lists
// verdicts that do not hold, which must never happen. A question that verify leaves open is not
// wrong, but counted. Pure functions.
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
  // Sizes for which the oracle can finish, with every feature that the oracle knows.
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
  // Limits that suffice for nearly all programs; other programs are judged again with `again`.
  verify::VerifyOptions verify = {.solver_steps = 10'000'000, .search_states = 100'000};
  std::optional<verify::VerifyOptions> again = verify::VerifyOptions{};  // as in `ripeline verify`
  std::size_t most_states = 60'000;  // the most states that the oracle visits for each count
  int most_tasks = 14;               // the most tasks of a visited count, if the range has no end
  // A judge with mistakes, used instead of verify() to test that mistakes are noticed.
  std::function<verify::Verdict(const spec::Program&, const verify::VerifyOptions&)>
      faulty_judge_for_testing = {};
};

// The outcome of the obligation `deadlock`.
enum class Found : std::uint8_t {
  proved,
  refuted,
  through_hint,  // unknown: only choices that the dispatch does not make can deadlock
  not_asked,     // unknown, since the order does not list each task once
  open,          // unknown for another reason
  unsupported,   // unknown, for a construct that verify does not support yet
};

struct Seconds {
  double oracle = 0;
  double verify = 0;
};

struct Comparison {
  std::string text;
  std::vector<std::string> features;  // the program's, as features_of() names them, or "none"
  bool join = false;                  // a stage has several predecessors
  Found found = Found::open;
  bool visited = false;  // every count in range was visited completely
  std::string reason;    // why obligations are unknown
  bool missed = false;   // unknown though the states decide it: `deadlock`, an assertion, `once`
  int loose = 0;         // the number of proved peaks above the real ones
  int at_most = 0;       // the number of proved peaks that verify calls mere bounds
  std::vector<std::string> wrong;
  Seconds seconds;
};

[[nodiscard]] Comparison compare(std::uint64_t seed, const Options& options);

}  // namespace ripeline::compare
