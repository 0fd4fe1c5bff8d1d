// Subjects on real processes: each rank, and each member of one, a forked process with sockets
// between them, as `ripeline emulate --processes` has them.
//
// One set of processes runs the whole plan: condition by condition, in each seed by seed, in each
// subject by subject, so that all sides of a comparison meet the same minute of the machine. A hint
// keeps what it learned from seed to seed and forgets it between conditions, as in simulate_runs().
// Blocks; the caller has one thread. Throws std::runtime_error if a process fails, with what all of
// them said of it; none is left behind.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/comparison/subject.h"

namespace ripeline::bench::comparison {

struct Condition {
  std::string name;
  simulate::TimingOptions times;
};

struct Plan {
  std::vector<Subject> subjects;  // all have one layout
  std::vector<Condition> conditions;
  int microbatches = 32;
  int first_seed = 1;
  int seeds = 1;
  core::Time unit{5'000'000};  // on the clock
  core::Time longest_step{0};  // as far as is known
};

// By condition, subject and seed.
using Runs = std::vector<std::vector<std::vector<Run>>>;
// `ended(condition)` after each, counted from 0.
[[nodiscard]] Runs emulate_runs(const Plan& plan, const std::function<void(std::size_t)>& ended);

}  // namespace ripeline::bench::comparison
