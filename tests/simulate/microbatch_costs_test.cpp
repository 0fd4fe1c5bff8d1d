// Tests costs that name the microbatch: in every run each task takes its own microbatch's cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/simulate/runs.h"

namespace ripeline::simulate {
namespace {

using testing_support::compiled_schedule;
using testing_support::TableRun;

constexpr double kUnit = 1e6;  // nanoseconds

double simulated_makespan(const spec::Program& program, int microbatches,
                          const TimingOptions& options = {}) {
  const RunReport run = TableRun(program).run(microbatches, options);
  EXPECT_EQ(run.status.message(), "");
  EXPECT_FALSE(run.stuck);
  return static_cast<double>(run.makespan.count()) / kUnit;
}

std::string one_rank(const std::string& forward, const std::string& more = "") {
  return "\npipeline p { microbatches any;  stages 1;  place s on 0; op F forward { cost " +
         forward +
         ";  acquires a; } op B backward { cost 2;  needs F at here;  releases a; } resource a per "
         "rank { capacity 5; } dispatch ready;" +
         more + " }";
}

// A cost as text, and the parameters of its value.
struct DrawnCost {
  std::string text = {};
  std::int64_t a = 0, b = 0, period = 1, special = 0, at = 0;
  [[nodiscard]] std::int64_t of(std::int64_t m, std::int64_t stage) const {
    return (m == at ? special : a + b * (m % period)) + stage;
  }
};

DrawnCost drawn_cost(std::mt19937_64& random) {
  const auto below = [&](int n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  DrawnCost cost{
      .a = below(5), .b = below(4), .period = 1 + below(4), .special = below(30), .at = below(6)};
  cost.text = fmt::format("(m == {} ? {} : {} + {} * (m % {})) + s", cost.at, cost.special, cost.a,
                          cost.b, cost.period);
  return cost;
}

TEST(MicrobatchCosts, are_those_of_the_text) {
  EXPECT_EQ(simulated_makespan(compiled_schedule(one_rank("(m == 0 ? 4 : 1)")), 4), 15);
  EXPECT_EQ(simulated_makespan(compiled_schedule(one_rank("1 + m / 2")), 4), 4 + 3 + 8);
  spec::ElaborateOptions four;
  four.microbatches = {.first = 4, .last = 4};
  EXPECT_EQ(simulated_makespan(compiled_schedule(one_rank("microbatches - m"), four), 4),
            4 + 3 + 2 + 1 + 8);
}

TEST(MicrobatchCosts, of_one_rank_add_up) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    const DrawnCost cost = drawn_cost(random);
    const int microbatches = 1 + static_cast<int>(random() % 12);
    std::int64_t sum = 2 * microbatches;
    for (int m = 0; m < microbatches; ++m) sum += cost.of(m, 0);
    EXPECT_EQ(simulated_makespan(compiled_schedule(one_rank(cost.text)), microbatches),
              static_cast<double>(sum))
        << cost.text << ", " << microbatches;
  }
}

// All forwards run, then all backwards: a task starts when the previous task on its rank and all
// tasks that it needs have ended.
TEST(MicrobatchCosts, of_a_fixed_order_are_those_of_the_longest_path) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 300; ++i) {
    const DrawnCost f = drawn_cost(random);
    const DrawnCost b = drawn_cost(random);
    const auto ranks = static_cast<std::size_t>(1 + random() % 4);
    const auto microbatches = static_cast<std::size_t>(1 + random() % 7);
    const spec::Program program = compiled_schedule(fmt::format(
        "\npipeline p {{ microbatches any;  stages {};  place s on s; op F forward {{ cost {};  "
        "needs F at prev;  acquires a; }} op B backward {{ cost {};  needs F at here, B at next;  "
        "releases a; }} resource a per stage {{ }} order o on r {{ F * microbatches;  B * "
        "microbatches; }} dispatch in order o; }}",
        ranks, f.text, b.text));
    std::vector<std::vector<std::int64_t>> end(ranks, std::vector<std::int64_t>(microbatches));
    std::vector<std::int64_t> now(ranks);
    for (std::size_t s = 0; s < ranks; ++s) {
      for (std::size_t m = 0; m < microbatches; ++m) {
        const std::int64_t fed = s > 0 ? end[s - 1][m] : 0;
        now[s] = end[s][m] = std::max(now[s], fed) +
                             f.of(static_cast<std::int64_t>(m), static_cast<std::int64_t>(s));
      }
    }
    for (std::size_t s = ranks; s-- > 0;) {
      for (std::size_t m = 0; m < microbatches; ++m) {
        const std::int64_t fed = s + 1 < ranks ? end[s + 1][m] : 0;
        now[s] = end[s][m] = std::max(now[s], fed) +
                             b.of(static_cast<std::int64_t>(m), static_cast<std::int64_t>(s));
      }
    }
    EXPECT_EQ(simulated_makespan(program, static_cast<int>(microbatches)),
              static_cast<double>(*std::max_element(now.begin(), now.end())))
        << f.text << "; " << b.text << ", " << ranks << " ranks, " << microbatches;
  }
}

TEST(MicrobatchCosts, are_of_the_microbatches_that_an_op_has) {
  const spec::Program program = compiled_schedule(
      "\npipeline p { microbatches any;  stages 1;  place s on 0; op F forward on m where m % 2 == "
      "1 { cost 6 / m; } dispatch ready; }");
  EXPECT_EQ(simulated_makespan(program, 4), 6 + 2);  // for microbatches 1 and 3; 0 has no cost
}

TEST(MicrobatchCosts, go_with_their_inputs) {
  const spec::Program program = compiled_schedule(
      one_rank("m == 2 ? 9 : 1").insert(std::string("\npipeline p { ").size(), "inputs pyramid; "));
  const RunReport run = TableRun(program).run(3);
  EXPECT_EQ(run.makespan.count(), 17 * kUnit);
  Timing timing;
  ASSERT_TRUE(Timing::make(program, 3, {}, timing).ok());
  EXPECT_EQ(timing.input(1), 2);  // the longest is in the middle
  EXPECT_EQ(timing.mean({0, 1}).count(), 9 * kUnit);
}

TEST(MicrobatchCosts, give_way_to_what_was_measured) {
  const spec::Program program = compiled_schedule(one_rank("m == 0 ? 4 : 1"));
  TimingOptions options;
  options.profile.emplace();
  options.profile->unit = plain_unit();
  options.profile->tasks.emplace_back();
  options.profile->tasks[0].op = "F";
  options.profile->tasks[0].mean = 3;
  EXPECT_EQ(simulated_makespan(program, 4, options), 4 * 3 + 8);
  options.profile->tasks[0].microbatch = 1;
  EXPECT_EQ(simulated_makespan(program, 4, options), 4 + 3 + 1 + 1 + 8);
}

TEST(MicrobatchCosts, without_a_value_are_refused) {
  const RunReport negative = TableRun(compiled_schedule(one_rank("100 - m"))).run(102);
  EXPECT_EQ(negative.status.message(),
            "the cost of 0F has no value for microbatch 101: the cost 100 - m is negative");
  const RunReport fine = TableRun(compiled_schedule(one_rank("100 - m"))).run(101);
  EXPECT_EQ(fine.status.message(), "");
}

// An input's factor applies to all tasks of its microbatch, but not to an op that runs only once.
TEST(MicrobatchCosts, of_inputs_scale_what_a_microbatch_has) {
  TimingOptions options;
  options.profile.emplace();
  options.profile->unit = plain_unit();
  options.profile->inputs = {3, 1};
  EXPECT_EQ(simulated_makespan(compiled_schedule(one_rank("2 * input")), 2, options),
            3 * (2 + 2) + 2 + 2);
  EXPECT_EQ(simulated_makespan(compiled_schedule(one_rank("2 * input")), 2), 8);
  EXPECT_EQ(simulated_makespan(
                compiled_schedule(one_rank("1", "op G once { cost 5;  needs B at here of all; }")),
                2, options),
            3 * (1 + 2) + 1 + 2 + 5);
}

}  // namespace
}  // namespace ripeline::simulate
