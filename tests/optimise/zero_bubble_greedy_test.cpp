// Tests the greedy algorithm of Zero Bubble, reimplemented for bench_optimise. Its bubbles by span
// are compared with those of the published code.
#include "bench/optimisers/zero_bubble_greedy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "optimise/bounds/bounds.h"

namespace ripeline::bench {
namespace {

using optimise::Objective;
using optimise::Uniform;

struct Published {
  int ranks;
  int microbatches;
  std::int64_t forward, input, weight, latency;
  std::map<int, std::int64_t> bubbles;  // by memory
};

Uniform chain_of(const Published& row, int memory) {
  return {.ranks = row.ranks,
          .microbatches = row.microbatches,
          .forward = row.forward,
          .input = row.input,
          .weight = row.weight,
          .latency = row.latency,
          .memory = memory};
}

TEST(ZeroBubbleGreedy, has_the_bubbles_of_the_published_code) {
  const std::vector<Published> rows = {
      {3, 6, 1, 1, 1, 0, {{2, 9}, {3, 2}, {4, 1}, {5, 0}}},
      {4, 8, 1, 1, 1, 0, {{2, 27}, {3, 13}, {4, 3}, {5, 2}, {6, 1}, {7, 0}}},
      {3, 6, 3, 4, 2, 0, {{2, 39}, {3, 10}, {4, 8}, {5, 6}, {6, 4}}},
      {8, 24, 1, 1, 1, 0, {{6, 83}, {7, 37}, {8, 7}, {9, 6}, {12, 3}, {15, 0}}},
      {8, 16, 24, 23, 12, 1, {{7, 898}, {6, 1633}, {5, 2368}, {4, 3103}, {3, 3838}}},
      {8, 24, 24, 23, 12, 1, {{7, 1194}, {6, 2321}, {5, 3448}, {4, 4575}}},
      {8, 24, 30, 30, 20, 1, {{7, 1400}, {6, 2826}, {5, 4252}}},
      {8, 24, 18522, 18086, 9337, 601, {{7, 919549}, {6, 1789179}, {5, 2658809}, {4, 3528439}}},
      {8, 64, 18546, 18097, 9321, 762, {{7, 2084467}, {6, 4488988}, {5, 6893509}, {4, 9298030}}},
      {16,
       48,
       11347,
       11248,
       8132,
       377,
       {{14, 2162837}, {12, 4357643}, {10, 6552449}, {8, 8747255}}}};
  for (const Published& row : rows) {
    for (const auto& [memory, bubble] : row.bubbles) {
      const Uniform chain = chain_of(row, memory);
      const auto order = zero_bubble_greedy(chain);
      ASSERT_TRUE(order) << memory;
      const std::int64_t work = row.microbatches * (row.forward + row.input + row.weight);
      EXPECT_EQ(order->span - work, bubble)
          << row.ranks << " ranks, " << row.microbatches << " microbatches, memory " << memory;
      EXPECT_LE(order->peak, memory);
    }
  }
}

// With 1F1B's memory or more, the span is optimal if the algorithm tries all of its settings.
TEST(ZeroBubbleGreedy, reaches_the_bound_with_the_memory_of_1f1b_or_more) {
  const Published row{16, 48, 11347, 11248, 8132, 377, {}};
  for (const int memory : {16, 20, 31}) {
    const Uniform chain = chain_of(row, memory);
    const auto order = zero_bubble_greedy(chain);
    ASSERT_TRUE(order);
    EXPECT_EQ(order->span, optimise::lower_bound(chain, Objective::span).value) << memory;
  }
}

TEST(ZeroBubbleGreedy, tries_settings_that_differ) {
  const Published row{16, 48, 11347, 11248, 8132, 377, {}};
  const Uniform chain = chain_of(row, 20);
  std::map<std::int64_t, int> spans;
  for (int bits = 0; bits < 8; ++bits) {
    const auto order =
        zero_bubble_greedy(chain, {(bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0});
    ASSERT_TRUE(order);
    ++spans[order->span];
  }
  EXPECT_GE(spans.size(), 6U);
}

TEST(ZeroBubbleGreedy, makes_no_order_without_memory) {
  EXPECT_FALSE(zero_bubble_greedy({.ranks = 2, .microbatches = 2, .memory = 0}));
  const auto serial = zero_bubble_greedy({.ranks = 2, .microbatches = 3, .memory = 1});
  ASSERT_TRUE(serial);
  EXPECT_EQ(serial->peak, 1);
  const auto one = zero_bubble_greedy({.ranks = 1, .microbatches = 4, .memory = 2});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->makespan, 12);
}

}  // namespace
}  // namespace ripeline::bench
