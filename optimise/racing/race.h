// race: finds the dispatch of a program that is fastest under given times, with no more memory.
//
// The baseline is the program's own dispatch. The other candidates (candidates.h) run under the
// same draws. A candidate may be picked if it is proved, ends every run, and holds on no rank more
// than the baseline. It is picked if it is also faster beyond doubt, both on the seeds that choose
// and on later seeds. Otherwise the baseline stays.
//
// Losers are dropped early. Candidates are compared after 8 seeds (or more, if the measure needs
// more) and each time the number of seeds has doubled. A candidate that may be picked is compared
// with the best such candidate; any other, with the best of all. It is dropped if it seems slower
// and the probability that this is chance is below 1/1000 divided by the number of comparisons in a
// race. So the fastest is dropped in at most one race of a thousand, if times are distributed as
// doubt_that_slower() assumes. If a candidate is excluded later, those that were dropped because of
// it run the seeds that they missed. Not thread-safe; verifies each candidate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "optimise/racing/candidates.h"
#include "optimise/racing/contest.h"
#include "optimise/racing/gain.h"
#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::optimise {

struct Trial {
  Candidate candidate;
  verify::Outcome verdict = verify::Outcome::unknown;
  Gain gain = {};      // over the baseline, on the seeds that the candidate ran
  double time = 0;     // the measure of the makespans or spans, in the timing's unit
  double notices = 0;  // per task
  std::vector<std::int64_t> peaks = {};  // per pool, the most in any run
  End end = End::ended;                  // if it is not `ended`, the fields above are unset
  // The reason why the candidate must not be picked: it is not proved, did not end, or holds more
  // than the baseline. If nullopt, it may be picked unless `dropped` is set.
  std::optional<std::string> excluded = {};
  std::optional<int> dropped = {};  // the number of seeds after which it was dropped
};
struct RaceResult {
  // The order of trials: the baseline; trials that ran all seeds, fastest first; dropped trials,
  // the last dropped first; trials that did not end.
  std::vector<Trial> trials;
  Measure measure;
  std::uint64_t seed = 1;           // the first seed
  int seeds = 0;                    // the number of seeds that choose; as many more seeds measure
  std::optional<std::size_t> pick;  // nullopt if the baseline stays
  Gain measured;                    // by the fastest that may be picked, on the seeds that measure
  std::vector<std::string> notes;   // why some orders or hints were not tried
};

using Judge = std::function<verify::Outcome(const spec::Program&)>;

struct RaceOptions {
  int seeds = 50;
  bool by_span = false;  // true: a run's time is its span, not its makespan
  Measure measure = {};
  bool drops = true;                 // whether losers are dropped early
  Judge judge = {};                  // if empty, verify::verify judges
  std::function<bool()> go_on = {};  // asked before each run; false stops the race; may be empty
};

// The first seed is `times.seed`. The judge is called once for programs that differ only in the
// order of inputs, since no verdict depends on it. Fails by status if there is no other candidate,
// if nothing takes time, if the measure does not fit (see fits()), if the baseline is not proved or
// does not end, or if `go_on` returns false.
[[nodiscard]] core::Status race(const spec::Program& program, int microbatches,
                                const simulate::TimingOptions& times, const RaceOptions& options,
                                RaceResult& result);

// Fails by status for a percentile if times do not vary or if there are too few seeds.
[[nodiscard]] core::Status fits(const Measure& measure, bool draws, int seeds);

}  // namespace ripeline::optimise
