// The external interface is lengthened().
#include "optimise/search/lengthen.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace ripeline::optimise {
namespace {

using Starts = std::vector<std::int64_t>;
using ByLane = std::array<Starts, kMostLanes>;  // by microbatch

ByLane by_lane(const ShortRow& row, const Starts& starts) {
  ByLane all;
  for (std::size_t i = 0; i < row.size(); ++i) all[row[i]].push_back(starts[i]);
  return all;
}

}  // namespace

ShortRows lengthened(const ShortRows& rows, const std::vector<std::vector<std::int64_t>>& starts,
                     const Part& part) {
  const auto first = static_cast<std::size_t>(part.first);
  const auto period = static_cast<std::size_t>(part.period);
  std::vector<ByLane> all;
  std::int64_t cycle = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    all.push_back(by_lane(rows[r], starts[r]));
    for (const Starts& lane : all.back()) {
      if (lane.empty()) continue;
      for (std::size_t m = first; m < first + period; ++m) {
        cycle = std::max(cycle, lane[m + period] - lane[m]);
      }
    }
  }
  ShortRows longer;
  for (const ByLane& lanes : all) {
    std::vector<std::pair<std::int64_t, Lane>> tasks;
    for (Lane lane = 0; lane < kMostLanes; ++lane) {
      for (std::size_t m = 0; m < lanes[lane].size(); ++m) {
        const std::int64_t start = lanes[lane][m];
        if (m < first + period) tasks.emplace_back(start, lane);
        if (m >= first) tasks.emplace_back(start + cycle, lane);
      }
    }
    std::stable_sort(tasks.begin(), tasks.end());
    longer.emplace_back();
    for (const auto& [start, lane] : tasks) longer.back().push_back(lane);
  }
  return longer;
}

}  // namespace ripeline::optimise
