// Goal: what a run is to show.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ripeline::verify {

// A stuck state, or a start after which some pool holds more than its bound.
struct Goal {
  std::vector<std::optional<std::int64_t>> bounds;  // per pool; empty: a stuck state
  [[nodiscard]] bool is_stuck() const { return bounds.empty(); }
};

}  // namespace ripeline::verify
