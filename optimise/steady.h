// steady_order: improves an order for times that vary, by trying changes of it under drawn times.
//
// Some orders that are equally good by mean times differ much once tasks and messages vary. A task
// is moved in its machine's row, and the move is kept if the order is no worse over a few draws of
// the times. The result holds no more of any pool than the given order. How much better it really
// is must be measured on other draws. The mean is minimised even if a percentile counts in the end,
// since to minimise a percentile over few draws lowers the real percentile no further. Pure and
// deterministic for a seed, a number of draws and a number of answers of `go_on`; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "optimise/model.h"
#include "optimise/uniform.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::optimise {

// The seeds of compared runs are far from this one; they must not be used to improve an order.
inline constexpr std::uint64_t kImprovingSeeds = 1'000'000;

struct SteadyOptions {
  std::uint64_t first_seed = kImprovingSeeds;  // the first draw's; later draws count up
  // More moves are worth more than more draws.
  int draws = 16;
  std::function<bool()> go_on;  // false ends the search
};

struct Steady {
  Rows rows;
  double before = 1;  // the geometric mean over the draws, with the given order
  double after = 1;   // the same with `rows`
  std::int64_t tried = 0;
};

// `times` must draw something. nullopt if the model leaves something out, so that only a simulated
// run gives an order's drawn times, or if the program, the times or the rows do not fit.
[[nodiscard]] std::optional<Steady> steady_order(const spec::Program& program, int microbatches,
                                                 const simulate::TimingOptions& times,
                                                 Objective objective, const Rows& rows,
                                                 const SteadyOptions& options);

}  // namespace ripeline::optimise
