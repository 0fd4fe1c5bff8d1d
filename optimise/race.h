// race: which dispatch of a program is the fastest under given times, with no more memory.
//
// The baseline is the program's own dispatch, whatever it is. The other candidates are its orders,
// committed to; its hints; and hints that follow its orders, waiting in several ways. All run under
// the same draws. What may be picked is proved, ends every run, and holds on no rank more than the
// baseline; and it is faster beyond doubt, on the seeds that choose and on others after them. Else
// the baseline stays. One thread; verifies each candidate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "optimise/contest.h"
#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::simulate {

struct Candidate {
  std::string dispatch;  // `in order NAME`, `ready by NAME` or `ready`
  std::string hint;      // to be written for it: `hint rn { … }`; empty: the program has it
  bool pyramid = false;  // needs `inputs pyramid;`, which the program has not
  spec::Program program;
};
// The program itself first. An order from a file is one only where the dispatch uses it, since it
// is not read otherwise; and no hint waits for it.
// `inputs`: costs differ from input to input, so that their order matters.
[[nodiscard]] std::vector<Candidate> candidates_of(const spec::Program& program, bool inputs);

struct Trial {
  Candidate candidate;
  verify::Outcome verdict = verify::Outcome::unknown;
  Gain gain = {};                        // over the baseline
  double time = 0;                       // geometric mean of the makespans, in units
  double notices = 0;                    // for each task
  std::vector<std::int64_t> peaks = {};  // per pool, the most in any run
  End end = End::ended;                  // else gain, time, notices and peaks say nothing
  // Why it may not be picked: not proved, did not end and why, holds more. Nothing: it may.
  std::optional<std::string> excluded = {};
};
struct RaceResult {
  std::vector<Trial> trials;        // the baseline first, then the fastest first
  std::uint64_t seed = 1;           // the first
  int seeds = 0;                    // so many from the first chose, as many after them measured
  std::optional<std::size_t> pick;  // nothing: the baseline stays
  Gain measured;                    // of the fastest that may be picked, on the seeds after
  std::vector<std::string> notes;   // what was not tried, and why
};

using Judge = std::function<verify::Outcome(const spec::Program&)>;

struct RaceOptions {
  int seeds = 50;
  bool by_span = false;              // else by wall
  Judge judge = {};                  // verify::verify, without one
  std::function<bool()> go_on = {};  // asked before each run; empty: it goes on
};

// Begins at `times.seed`. The judge is asked once for programs that differ in the order of their
// inputs alone: no verdict depends on that. Fails by status: nothing to compare with, times in
// which nothing takes time, a baseline that is not proved or does not end, and where `go_on` says
// no.
[[nodiscard]] core::Status race(const spec::Program& program, int microbatches,
                                const TimingOptions& times, const RaceOptions& options,
                                RaceResult& result);

}  // namespace ripeline::simulate
