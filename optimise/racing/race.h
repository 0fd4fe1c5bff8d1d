// race: which dispatch of a program is the fastest under given times, with no more memory.
//
// The baseline is the program's own dispatch, whatever it is. The others (candidates.h) meet the
// same draws. What may be picked is proved, ends every run, and holds on no rank more than the
// baseline; and it is faster beyond doubt, on the seeds that choose and on others after them. Else
// the baseline stays.
//
// Losers are dropped early. After 8 seeds, or as many as the measure asks for, and whenever their
// number has doubled, each candidate is compared with the best that may be picked; with the best of
// all, if it may not be picked itself. One that is slower meets no more seeds if that is by chance
// with a probability below 1/1000, divided by all such comparisons of a race, so that in one race
// of a thousand, if distributions are as doubt_that_slower() takes them, the fastest is dropped. If
// it turns out that the one it was slower than may not be picked, it meets the seeds that it has
// missed. One thread; verifies each candidate.
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
  Gain gain = {};                        // over the baseline, on the seeds that it met
  double time = 0;                       // the measure of the makespans, in units
  double notices = 0;                    // for each task
  std::vector<std::int64_t> peaks = {};  // per pool, the most in any run
  End end = End::ended;                  // else gain, time, notices and peaks say nothing
  // Why it may not be picked: not proved, did not end and why, holds more. Nothing: it may, unless
  // it was dropped.
  std::optional<std::string> excluded = {};
  std::optional<int> dropped = {};  // after so many seeds
};
struct RaceResult {
  // The baseline first; then those that met all seeds, the fastest first; then those that were
  // dropped, the last one first; then those that did not end.
  std::vector<Trial> trials;
  Measure measure;
  std::uint64_t seed = 1;           // the first
  int seeds = 0;                    // so many from the first chose, as many after them measured
  std::optional<std::size_t> pick;  // nothing: the baseline stays
  Gain measured;                    // for the fastest that may be picked, on the seeds after
  std::vector<std::string> notes;   // why some orders or hints were not tried
};

using Judge = std::function<verify::Outcome(const spec::Program&)>;

struct RaceOptions {
  int seeds = 50;
  bool by_span = false;  // else by wall
  Measure measure = {};
  bool drops = true;                 // losers early
  Judge judge = {};                  // verify::verify, without one
  std::function<bool()> go_on = {};  // asked before each run; empty: it goes on
};

// Begins at `times.seed`. The judge is asked once for programs that differ in the order of their
// inputs alone: no verdict depends on that. Fails by status: nothing to compare with, times in
// which nothing takes time, a percentile of times that do not vary or of too few seeds, a baseline
// that is not proved or does not end, and where `go_on` says no.
[[nodiscard]] core::Status race(const spec::Program& program, int microbatches,
                                const simulate::TimingOptions& times, const RaceOptions& options,
                                RaceResult& result);

// Fails by status unless the measure has what it needs: times that vary, and enough seeds.
[[nodiscard]] core::Status fits(const Measure& measure, bool draws, int seeds);

}  // namespace ripeline::optimise
