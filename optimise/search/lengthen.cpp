// The external interface is lengthened().
#include "optimise/search/lengthen.h"

#include <algorithm>
#include <utility>

namespace ripeline::optimise {

Rows lengthened(const Model& model, const std::vector<Time>& starts, const Part& part) {
  const auto start = [&](const Model::Lane& lane, int m) { return at(starts, lane.first + m); };
  const int again = part.first + part.period;
  Time cycle = 0;
  for (const Model::Lane& lane : model.lanes) {
    for (int m = part.first; m < again; ++m) {
      cycle = std::max(cycle, start(lane, m + part.period) - start(lane, m));
    }
  }
  Rows longer;
  for (const Model::Machine& machine : model.machines) {
    std::vector<std::pair<Time, int>> tasks;
    for (const int l : machine.lanes) {
      const Model::Lane& lane = at(model.lanes, l);
      for (int m = 0; m < lane.tasks; ++m) {
        if (m < again) tasks.emplace_back(start(lane, m), l);
        if (m >= part.first) tasks.emplace_back(start(lane, m) + cycle, l);
      }
    }
    std::stable_sort(tasks.begin(), tasks.end());
    longer.emplace_back();
    for (const auto& [when, lane] : tasks) longer.back().push_back(lane);
  }
  return longer;
}

}  // namespace ripeline::optimise
