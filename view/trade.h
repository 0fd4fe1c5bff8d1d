// Time against memory as SVG: the best time for each memory, the lower bounds on that time, and
// points for comparison.
//
// Pure function.
#pragma once

#include <string>
#include <vector>

namespace ripeline::view {

struct TradePoint {
  double memory = 0;
  double time = 0;
  std::string label;
};
struct Trade {
  std::string title;
  std::string memory_label;
  std::string time_label;
  std::vector<TradePoint> best;    // by memory; joined by a line
  std::vector<TradePoint> bounds;  // by memory; joined by a dashed line
  std::vector<TradePoint> others;
};
[[nodiscard]] std::string trade_svg(const Trade& trade, int width);

}  // namespace ripeline::view
