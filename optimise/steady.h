// An order that is good where times vary: improved on drawn times, from one that is good without.
//
// Of orders that are equally good by the mean times some are much better than others once tasks and
// messages vary. Tasks of a machine change places, and what is better over a few draws of the times
// is kept. It holds no more of any pool than the order that it begins with. How much better it
// really is must be measured on other draws. What is made small is the mean, also where a
// percentile counts in the end: improving that on few draws gains no more of it. Pure and
// deterministic for a seed, a number of draws and of answers of `go_on`; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "optimise/model.h"
#include "optimise/uniform.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::optimise {

// Far from the seeds with which runs are compared: they must have no part in an improvement.
inline constexpr std::uint64_t kImprovingSeeds = 1'000'000;

struct SteadyOptions {
  std::uint64_t first_seed = kImprovingSeeds;  // the first draw's; the next ones follow it
  // More of them are worth less than more moves.
  int draws = 16;
  std::function<bool()> go_on;  // false ends it
};

struct Steady {
  Rows rows;
  double before = 1;  // the geometric mean over the draws that it was improved on
  double after = 1;   // the same, of what was found
  std::int64_t tried = 0;
};

// `times` draw something. Nothing: the model leaves something out, so that drawn times are those of
// a simulated run alone; or the program or the times do not fit.
[[nodiscard]] std::optional<Steady> steady_order(const spec::Program& program, int microbatches,
                                                 const simulate::TimingOptions& times,
                                                 Objective objective, const Rows& rows,
                                                 const SteadyOptions& options);

}  // namespace ripeline::optimise
