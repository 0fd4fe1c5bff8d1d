#include "optimise/solver/divisor.h"

#include <algorithm>
#include <limits>

#include "optimise/solver/order_graph.h"

namespace ripeline::optimise {
namespace {

constexpr Time kTried = 300;             // how many divisors are tried
constexpr int kMostTasksDivided = 1000;  // with more tasks, only the mean counts

struct Sizes {
  Time path = 0;
  Time work = 0;
};

Sizes sizes_of(const Model& model, Time divisor) {
  Sizes sizes;
  const auto graph = OrderGraph::make(model, {divisor, true}, nullptr, {});
  if (!graph) return sizes;
  std::vector<Time> work(model.machines.size(), 0);
  for (int task = 0; task < model.tasks(); ++task) {
    sizes.path = std::max(sizes.path, graph->head(task) + graph->takes(task) + graph->tail(task));
    Time& sum = at(work, at(model.lanes, at(model.lane_of, task)).machine);
    sizes.work = std::max(sizes.work, sum += graph->takes(task));
  }
  return {sizes.path * divisor, sizes.work * divisor};
}

double lost(Time before, Time after) {
  return before == 0 ? 0 : static_cast<double>(before - after) / static_cast<double>(before);
}

}  // namespace

Time divisor_of(const Model& model, Time least, Time most, Time fine) {
  const Time common = common_divisor(model);
  Time sum = 0;
  for (const Time takes : model.takes) sum += takes;
  const Time mean = sum / std::max(1, model.tasks()) / common;
  if (mean <= fine) return common;
  if (model.tasks() > kMostTasksDivided) return mean / least * common;
  const Sizes exact = sizes_of(model, common);
  const Time from = std::max<Time>(1, mean / most);
  const Time to = mean / least;
  Time best = from;
  double least_lost = std::numeric_limits<double>::infinity();
  // Large divisors come first: of two divisors with the same loss, the larger makes solving faster.
  for (Time by = to; by >= from; by -= std::max<Time>(1, (to - from) / kTried)) {
    const Sizes rounded = sizes_of(model, by * common);
    const double share = lost(exact.path, rounded.path) + lost(exact.work, rounded.work);
    if (share >= least_lost) continue;
    least_lost = share;
    best = by;
  }
  return best * common;
}

}  // namespace ripeline::optimise
