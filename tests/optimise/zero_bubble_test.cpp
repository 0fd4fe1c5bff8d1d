// Tests orders made for given costs: compares their bubbles with known optima and published ones,
// and tests that a program which reads such an order back has the same times.
#include "optimise/search/zero_bubble.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "spec/elaborate.h"
#include "tests/support/makespan.h"

namespace ripeline::optimise::zero_bubble_test {
namespace {

using pytorch::Placement;

std::int64_t work_of(const Uniform& uniform) {
  const std::int64_t chunks = uniform.placement == Placement::v ? 2 : 1;
  return chunks * uniform.microbatches * (uniform.forward + uniform.input + uniform.weight);
}

// The best of all orders that the search tries, by span, then by makespan. The search ends early if
// no better order is possible.
std::optional<FoundOrder> best_order(const Uniform& uniform) {
  std::optional<FoundOrder> best;
  const std::int64_t least = work_of(uniform);
  const std::int64_t last_begins = (uniform.ranks - 1) * (uniform.forward + uniform.latency);
  const auto go_on = [&] {
    return !best || best->span != least || best->makespan != least + last_begins;
  };
  UniformIncumbent incumbent(Objective::span, 0, go_on,
                             [&](const FoundOrder& order, std::string_view) { best = order; });
  zero_bubble_search(uniform, incumbent);
  return best;
}

std::string bubbles(const Uniform& uniform) {
  const auto order = best_order(uniform);
  if (!order) return "none";
  EXPECT_LE(order->peak, uniform.memory);
  return fmt::format("{}/{}", order->span - work_of(uniform), order->makespan - work_of(uniform));
}

Uniform chain(int p, int m, std::int64_t f, std::int64_t i, std::int64_t w, int memory) {
  return {.ranks = p, .microbatches = m, .forward = f, .input = i, .weight = w, .memory = memory};
}

// With at least as many activations as ranks, the expected values are optima, proved elsewhere.
TEST(ZeroBubble, is_optimal_from_the_memory_of_1f1b_on) {
  EXPECT_EQ(bubbles(chain(3, 6, 1, 1, 1, 1)), "24/24");
  EXPECT_EQ(bubbles(chain(3, 6, 1, 1, 1, 3)), "2/2");
  EXPECT_EQ(bubbles(chain(3, 6, 1, 1, 1, 4)), "1/2");
  EXPECT_EQ(bubbles(chain(3, 6, 1, 1, 1, 5)), "0/2");
  EXPECT_EQ(bubbles(chain(4, 8, 1, 1, 1, 1)), "48/48");
  EXPECT_EQ(bubbles(chain(4, 8, 1, 1, 1, 4)), "3/3");
  EXPECT_EQ(bubbles(chain(3, 6, 3, 4, 2, 3)), "10/10");
  EXPECT_EQ(bubbles(chain(3, 6, 3, 4, 2, 4)), "8/8");
  EXPECT_EQ(bubbles(chain(3, 6, 3, 4, 2, 5)), "6/6");
  EXPECT_EQ(bubbles(chain(3, 6, 3, 4, 2, 6)), "4/6");
}

// With less memory, the search's bubble is between the optimum and that of Zero Bubble's heuristic.
TEST(ZeroBubble, is_better_than_the_published_heuristic_below_the_memory_of_1f1b) {
  EXPECT_EQ(bubbles(chain(3, 6, 1, 1, 1, 2)), "7/7");    // the optimum
  EXPECT_EQ(bubbles(chain(3, 6, 3, 4, 2, 2)), "26/26");  // the optimum; the heuristic has 39
  EXPECT_EQ(bubbles(chain(4, 8, 1, 1, 1, 2)), "17/17");  // the optimum; the heuristic has 27
  EXPECT_EQ(bubbles(chain(4, 8, 1, 1, 1, 3)), "8/8");    // the optimum is 7; the heuristic has 13
}

TEST(ZeroBubble, reaches_the_published_rates) {
  struct Row {
    int m;
    std::int64_t f, i, w, c;
    const char* rates;
  };
  const Row rows[] = {
      {24, 18522, 18086, 9337, 601, "0.1585 0.1083"},
      {32, 18513, 18086, 9331, 626, "0.1242 0.0837"},
      {64, 18546, 18097, 9321, 762, "0.0674 0.0444"},
      {24, 29718, 29444, 19927, 527, "0.1323 0.0698"},
      {32, 29802, 29428, 19530, 577, "0.1045 0.0559"},
      {64, 29935, 29621, 19388, 535, "0.0554 0.0294"},
  };
  for (const Row& row : rows) {
    Uniform uniform = chain(8, row.m, row.f, row.i, row.w, 8);
    uniform.latency = row.c;
    const auto h1 = best_order(uniform);
    uniform.memory = 15;
    const auto h2 = best_order(uniform);
    ASSERT_TRUE(h1 && h2);
    const auto rate = [&](std::int64_t all) {
      return static_cast<double>(all - work_of(uniform)) / static_cast<double>(all);
    };
    EXPECT_EQ(fmt::format("{:.4f} {:.4f}", rate(h1->makespan), rate(h2->span)), row.rates);
  }
}

// The bubble that Controllable Memory (Qi and others, NeurIPS 2024) predicts for `memory` chunks at
// equal costs, if there are at least `ranks` chunks and twice as many microbatches as ranks.
std::int64_t v_form(std::int64_t ranks, std::int64_t memory) {
  const std::int64_t turn = ranks - 1 + 2 * (1 + (memory + 1) / 2);
  return std::max<std::int64_t>(0, 3 * ranks - 1 - 3 * memory + std::max(3 * ranks, turn));
}

TEST(ZeroBubble, fills_a_v_placement_as_far_as_the_memory_allows) {
  for (const int ranks : {3, 4, 6, 8}) {
    for (int memory = ranks + (ranks == 3 ? 1 : 0); memory <= 2 * ranks; memory += ranks / 4 + 1) {
      for (const int microbatches : {2 * ranks, 3 * ranks}) {
        if (ranks == 8 && microbatches > 2 * ranks) continue;  // each of these takes seconds
        const Uniform uniform{.placement = Placement::v,
                              .ranks = ranks,
                              .microbatches = microbatches,
                              .memory = memory};
        const auto order = best_order(uniform);
        ASSERT_TRUE(order.has_value()) << ranks << ' ' << memory;
        EXPECT_LE(order->peak, memory);
        EXPECT_EQ(order->span - work_of(uniform), v_form(ranks, memory))
            << fmt::format("{} ranks, {} microbatches, memory {}", ranks, microbatches, memory);
      }
    }
  }
}

TEST(ZeroBubble, needs_two_thirds_of_a_v_placement) {
  const auto v = [](int p, int memory) {
    return bubbles(
        {.placement = Placement::v, .ranks = p, .microbatches = 2 * p, .memory = memory});
  };
  EXPECT_EQ(v(4, 3), "none");
  EXPECT_EQ(v(8, 5), "none");
  EXPECT_NE(v(8, 6), "none");
}

// A program that reads the order from a file takes the time and memory that the search claims.
TEST(ZeroBubble, is_the_order_of_a_program) {
  for (const bool v : {false, true}) {
    for (const int m : {1, 3, 9}) {
      const Uniform uniform{.placement = v ? Placement::v : Placement::chain,
                            .ranks = 3,
                            .microbatches = m,
                            .forward = 5,
                            .input = 4,
                            .weight = 3,
                            .latency = 1,
                            .memory = 6};
      const auto order = best_order(uniform);
      ASSERT_TRUE(order.has_value());
      const std::string place =
          v ? "stages 6; place s on s < 3 ? s : 5 - s;" : "stages 3; place s on s;";
      pytorch::ActionTable table;
      for (const auto& row : order->rows) {
        table.rows.emplace_back();
        for (const pytorch::Action& action : row)
          table.rows.back().push_back({.actions = {action}});
      }
      const spec::Source source{
          "zb.ripe",
          fmt::format(
              "pipeline zb {{ microbatches {}; {} op F forward {{ cost 5; needs F at prev; "
              "acquires a; }} op I backward input {{ cost 4; needs F at here, I at next; }} "
              "op W backward weight {{ cost 3; needs I at here; releases a; }} resource a "
              "per rank {{ capacity 6; }} order zb from csv \"zb.csv\"; dispatch in order "
              "zb; }}",
              m, place)};
      spec::ElaborateOptions options;
      options.read_file = [&](const std::string&) { return pytorch::write_actions(table); };
      const auto program = spec::compile(source, options);
      ASSERT_TRUE(program.ok()) << render(source, program.errors());
      const auto time = makespan_of(program.value(), m, 1);
      ASSERT_TRUE(time.has_value());
      EXPECT_EQ(time->span, order->span);
      EXPECT_EQ(time->makespan, order->makespan);
      EXPECT_EQ(time->work, work_of(uniform));
      EXPECT_EQ(*std::max_element(time->peaks.begin(), time->peaks.end()), order->peak);
    }
  }
}

}  // namespace
}  // namespace ripeline::optimise::zero_bubble_test
