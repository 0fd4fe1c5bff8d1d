#include "core/input_order.h"

#include <gtest/gtest.h>

namespace ripeline::core {
namespace {

struct Row {
  std::vector<std::int64_t> costs;
  std::vector<std::int32_t> pyramid;
};

TEST(InputOrder, rises_and_falls_and_keeps_equal_costs_in_order) {
  const Row rows[] = {{{}, {}},
                      {{7}, {0}},
                      {{2, 1}, {1, 0}},
                      {{1, 2, 3, 4, 5}, {0, 2, 4, 3, 1}},
                      {{60, 10, 50, 20, 40, 30}, {1, 5, 2, 0, 4, 3}},
                      {{5, 5, 5, 5}, {0, 2, 3, 1}}};
  for (const Row& row : rows) {
    EXPECT_EQ(input_order(InputOrder::pyramid, row.costs), row.pyramid);
    const std::vector<std::int32_t> natural = input_order(InputOrder::natural, row.costs);
    for (std::size_t m = 0; m < natural.size(); ++m) {
      EXPECT_EQ(natural[m], static_cast<std::int32_t>(m));
    }
  }
}

}  // namespace
}  // namespace ripeline::core
