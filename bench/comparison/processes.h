// Runs subjects on real processes: each member of each rank is a forked process, with sockets
// between the processes, as in `ripeline emulate --processes`.
//
// One set of processes runs the plan: for each condition all seeds, and for each seed all subjects,
// so that the sides of a comparison run at nearly the same time. A hint keeps what it has learned
// from seed to seed and forgets it between conditions, as in simulate_runs(). emulate_runs()
// blocks, and its caller must have one thread. If a process fails, it prints its error to standard
// error, and emulate_runs() throws std::runtime_error; no process is left behind.
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
  std::vector<Subject> subjects;  // all with the same layout
  std::vector<Condition> conditions;
  int microbatches = 32;
  int first_seed = 1;
  int seeds = 1;
  core::Time unit{5'000'000};  // a duration of 1 on the clock
  core::Time longest_step{0};  // the longest simulated step
};

// The results, indexed by condition, subject and seed.
using StepResults = std::vector<std::vector<std::vector<StepResult>>>;
// Calls `ended` after each condition, with its number from 0.
[[nodiscard]] StepResults emulate_runs(const Plan& plan,
                                       const std::function<void(std::size_t)>& ended);

}  // namespace ripeline::bench::comparison
