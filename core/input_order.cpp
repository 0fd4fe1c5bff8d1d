#include "core/input_order.h"

#include <algorithm>
#include <numeric>

namespace ripeline::core {

std::vector<std::int32_t> input_order(InputOrder order, std::span<const std::int64_t> costs) {
  std::vector<std::int32_t> sorted(costs.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  if (order == InputOrder::natural) return sorted;
  std::stable_sort(sorted.begin(), sorted.end(), [costs](std::int32_t a, std::int32_t b) {
    return costs[static_cast<std::size_t>(a)] < costs[static_cast<std::size_t>(b)];
  });
  std::vector<std::int32_t> inputs;
  inputs.reserve(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); i += 2) inputs.push_back(sorted[i]);
  // Starts at the greatest odd position, counted from 0, and goes backwards.
  for (std::size_t i = sorted.size() / 2; i > 0; --i) inputs.push_back(sorted[2 * i - 1]);
  return inputs;
}

}  // namespace ripeline::core
