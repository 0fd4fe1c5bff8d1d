// steady_order: improves an order for times that vary, by trying changes of it under drawn times.
//
// Some orders that are equally good by mean times differ much once tasks and messages vary. A task
// is moved in its machine's row, and the move is kept if the order is no worse over a few draws of
// the times. The result needs no more of any pool than the given order. Its true improvement must
// be measured on other draws. The mean is minimised even if a percentile is wanted: minimising a
// percentile over few draws would not lower the true percentile any further. Pure; deterministic
// for a seed, a number of draws and a number of answers of `go_on`. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "optimise/model.h"
#include "optimise/uniform.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::optimise {

// Orders are improved on seeds from this one on. Runs that compare orders must use other seeds.
inline constexpr std::uint64_t kImprovingSeeds = 1'000'000;

struct SteadyOptions {
  std::uint64_t first_seed = kImprovingSeeds;  // for the first draw; later draws count up from it
  // Few draws, since the time is better spent on more moves.
  int draws = 16;
  std::function<bool()> go_on;  // false ends the search
};

struct Steady {
  Rows rows;
  double before = 1;  // the geometric mean over the draws, with the given order
  double after = 1;   // the same mean, with `rows`
  std::int64_t tried = 0;
};

// `times` must have drawn times. nullopt if the model leaves something out, since an order's drawn
// times then need a simulated run, or if the program, the times and the rows do not fit together.
[[nodiscard]] std::optional<Steady> steady_order(const spec::Program& program, int microbatches,
                                                 const simulate::TimingOptions& times,
                                                 Objective objective, const Rows& rows,
                                                 const SteadyOptions& options);

}  // namespace ripeline::optimise
