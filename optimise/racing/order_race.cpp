#include "optimise/racing/order_race.h"

#include <chrono>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "optimise/steady.h"
#include "simulate/run_program.h"
#include "verify/verify.h"

namespace ripeline::optimise {
namespace {

spec::Result<std::string> text_with(const Claim& claim, const std::vector<NamedOrder>& orders,
                                    const std::string& dispatch,
                                    const std::vector<std::string>& comments) {
  const Problem& problem = claim.problem;
  return with_orders(claim.source, problem.program(), {problem.microbatches()}, problem.model(),
                     orders, dispatch, comments);
}

// A sentence with the result of the race.
std::string line_of_race(const std::string& order, const RaceResult& result,
                         const simulate::TimingOptions& times) {
  const std::string& jitter = times.jitter.text;
  if (!result.pick) {
    return fmt::format("nothing is faster than the order {} beyond doubt{} under {}", order,
                       by_measure(result.measure), jitter);
  }
  return fmt::format("{} is {:.3f} times as fast as the order {}{} under {}, seeds {} and on",
                     result.trials[*result.pick].candidate.dispatch, result.measured.ratio, order,
                     by_measure(result.measure), jitter, result.seed);
}

}  // namespace

double seconds_of_race(const Certified& best, int microbatches,
                       const simulate::TimingOptions& times, int seeds) {
  // The mean number of dispatches run per seed, in units of one run of an order; hints take longer.
  constexpr double kFirstRuns = 8;
  const auto begun = std::chrono::steady_clock::now();
  simulate::Timing timing;
  if (!simulate::Timing::make(best.program, microbatches, times, timing).ok()) return 0;
  (void)simulate::run_program(best.program, best.facts.facts(), microbatches, timing, {});
  const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begun;
  return gone.count() * kFirstRuns * seeds;
}

spec::Result<OrderRace> order_race(const Claim& claim, const simulate::TimingOptions& times,
                                   const std::function<bool()>& go_on) {
  const Problem& problem = claim.problem;
  const std::string name = name_of_order(problem.program());
  OrderRace race{.orders = {{name, claim.order.rows}}, .program = {}};
  const auto steady =
      steady_order(problem.program(), problem.microbatches(), times, problem.objective(),
                   claim.order.rows, {.first_seed = times.seed + kImprovingSeeds, .go_on = go_on});
  if (steady && steady->rows != claim.order.rows) {
    race.orders.push_back({name_of_order(problem.program(), "steady"), steady->rows});
  }
  const auto text = text_with(claim, race.orders, fmt::format("dispatch in order {};", name), {});
  if (!text.ok()) return text.errors();
  auto program = compiled(claim, text.value());
  if (!program.ok()) return program.errors();
  race.program = std::move(program).value();
  return race;
}

spec::Result<PickedDispatch> picked_dispatch(const Claim& claim, const OrderRace& race,
                                             const RaceResult& result,
                                             const simulate::TimingOptions& times,
                                             const std::vector<std::string>& comments) {
  const Candidate& pick = result.trials[result.pick.value_or(0)].candidate;
  std::vector<std::string> lines = comments;
  lines.push_back(line_of_race(race.orders.front().name, result, times));
  auto text = text_with(claim, race.orders,
                        fmt::format("{}{} dispatch {};", pick.pyramid ? "inputs pyramid; " : "",
                                    pick.hint, pick.dispatch),
                        lines);
  if (!text.ok()) return text.errors();
  const auto last = compiled(claim, text.value());
  if (!last.ok() || !verify::verify(last.value()).proved) {
    return defect("the dispatch that was picked is not proved");
  }
  return PickedDispatch{.text = std::move(text).value(),
                        .dispatch = pick.dispatch,
                        .in_order = last.value().dispatch.in_order};
}

}  // namespace ripeline::optimise
