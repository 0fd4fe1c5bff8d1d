// Tests the picture of time against memory: it contains every point and label, inside its borders.
#include "view/trade.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace ripeline::view {
namespace {

TEST(Trade, has_every_point_and_label_inside) {
  const Trade trade{.title = "a < b",
                    .memory_label = "memory",
                    .time_label = "wall",
                    .best = {{2, 700, "v"}, {4, 500, "chain"}},
                    .bounds = {{2, 650, ""}, {4, 500, ""}},
                    .others = {{4, 654, "1f1b, megatron"}, {8, 644, "gpipe"}}};
  const std::string svg = trade_svg(trade, 600);
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  for (const char* label : {">v<", ">chain<", ">1f1b, megatron<", ">gpipe<", ">memory<"}) {
    EXPECT_NE(svg.find(label), std::string::npos) << label;
  }
  const std::regex circle("<circle cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");
  int circles = 0;
  for (std::sregex_iterator it(svg.begin(), svg.end(), circle), end; it != end; ++it, ++circles) {
    EXPECT_GT(std::stod((*it)[1]), 0);
    EXPECT_LT(std::stod((*it)[1]), 600);
  }
  EXPECT_EQ(circles, 4);
  EXPECT_EQ(svg, trade_svg(trade, 600));
}

// Even for a single point, the picture has axes.
TEST(Trade, may_be_one_point) {
  const std::string svg = trade_svg({.title = "",
                                     .memory_label = "",
                                     .time_label = "",
                                     .best = {{3, 10, "v"}},
                                     .bounds = {},
                                     .others = {}},
                                    400);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_NE(svg.find("<circle"), std::string::npos);
}

}  // namespace
}  // namespace ripeline::view
