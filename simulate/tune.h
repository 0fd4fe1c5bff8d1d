// tune: which dispatch of a program is the fastest under given times, with no more memory.
//
// Its candidates are the program's orders, committed to; its hints; and hints that follow its
// orders, waiting in several ways. All run under the same draws. What may be picked is proved, ends
// every run, and holds on no rank more than the baseline; and it is faster beyond doubt, on seeds
// that had no part in the choice. Else the baseline stays. One thread; verifies each candidate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "simulate/contest.h"
#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::simulate {

struct Candidate {
  std::string dispatch;  // `in order NAME` or `ready by NAME`
  std::string hint;      // to be written for it: `hint rn { … }`; empty: the program has it
  bool pyramid = false;  // needs `inputs pyramid;`, which the program has not
  spec::Program program;
};
// The baseline first: the order that the program commits to, else its first. Empty: it has none.
// `inputs`: costs differ from input to input, so that their order matters.
[[nodiscard]] std::vector<Candidate> candidates_of(const spec::Program& program, bool inputs);

struct Trial {
  Candidate candidate;
  verify::Outcome verdict = verify::Outcome::unknown;
  Gain gain = {};                        // over the baseline
  double time = 0;                       // geometric mean of the makespans, in units
  double notices = 0;                    // for each task
  std::vector<std::int64_t> peaks = {};  // per pool, the most in any run
  std::string excluded = {};             // why it may not be picked, or nothing
};
struct Tuning {
  std::vector<Trial> trials;        // the baseline first, then the fastest first
  int seeds = 0;                    // 1 .. seeds chose, as many after them measured
  std::optional<std::size_t> pick;  // nothing: the baseline stays
  Gain measured;                    // of the fastest that may be picked, on the seeds after
};

// Fails by status: no order to compare with, a baseline that is not proved or does not end.
[[nodiscard]] core::Status tune(const spec::Program& program, int microbatches,
                                const TimingOptions& times, int seeds, Tuning& tuning);

}  // namespace ripeline::simulate
