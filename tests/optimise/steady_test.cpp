// Tests that orders improved on drawn times are better on other draws, and hold no more memory.
#include "optimise/steady.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "optimise/racing/gain.h"
#include "optimise/search/search.h"
#include "tests/optimise/problems.h"

namespace ripeline::optimise {
namespace {

simulate::TimingOptions varying(double latency) {
  simulate::TimingOptions times;
  times.latency = latency;
  EXPECT_TRUE(simulate::Jitter::parse("uniform=0.3", times.jitter).ok());
  return times;
}

// The logarithms of the order's makespans, under draws that no search has used.
std::vector<double> logs_of(const Problem& problem, const Rows& rows,
                            const simulate::TimingOptions& times) {
  std::vector<double> logs;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    simulate::TimingOptions drawn = times;
    drawn.seed = seed;
    simulate::Timing timing;
    TaskGraph graph;
    EXPECT_TRUE(
        simulate::Timing::make(problem.program(), problem.microbatches(), drawn, timing).ok());
    EXPECT_TRUE(TaskGraph::make(problem.program(), problem.microbatches(), timing, graph).ok());
    const Model model = Model::of(problem.program(), problem.microbatches(), timing, graph);
    const auto starts = starts_of(model, rows);
    Time makespan = 0;
    for (int task = 0; starts && task < model.tasks(); ++task) {
      makespan = std::max(makespan, at(*starts, task) + at(model.takes, task));
    }
    logs.push_back(std::log(static_cast<double>(makespan)));
  }
  return logs;
}

// A best order without jitter, for 8 ranks, 24 microbatches, and room for 12 activations.
class Steadier : public ::testing::Test {
 protected:
  Steadier() {
    search(*pose_.problem, pose_.problem->bound().value, {.go_on = [] { return true; }},
           [&](const TimedOrder& order, std::string_view) { best_ = order; });
    EXPECT_EQ(best_.makespan, pose_.problem->bound().value);
  }

  [[nodiscard]] std::optional<Steady> improved(const simulate::TimingOptions& times,
                                               int tries) const {
    return steady_order(pose_.problem->program(), 24, times, Objective::makespan, best_.rows,
                        {.first_seed = 1000, .go_on = [&] { return --tries >= 0; }});
  }
  // The logarithm of the factor by which the best order is slower than these rows.
  [[nodiscard]] double gain(const Measure& measure, const Rows& rows,
                            const simulate::TimingOptions& times) const {
    const Estimator estimator(measure, 100);
    return estimator.of(logs_of(*pose_.problem, best_.rows, times)) -
           estimator.of(logs_of(*pose_.problem, rows, times));
  }

  Posed pose_ = posed(Uniform{.ranks = 8,
                              .microbatches = 24,
                              .forward = 24,
                              .input = 23,
                              .weight = 12,
                              .latency = 1,
                              .memory = 12});
  TimedOrder best_;
};

TEST_F(Steadier, orders_are_faster_on_other_draws_and_hold_no_more) {
  const auto steady = improved(varying(1), 6000);
  ASSERT_TRUE(steady.has_value());
  EXPECT_EQ(steady->tried, 6000);
  EXPECT_LT(steady->after, steady->before);
  const auto timed = pose_.problem->timed(steady->rows);
  ASSERT_TRUE(timed.has_value());
  for (std::size_t pool = 0; pool < best_.peaks.size(); ++pool) {
    EXPECT_LE(timed->peaks[pool], best_.peaks[pool]);
  }
  EXPECT_GE(gain({}, steady->rows, varying(1)), .02);
}

TEST_F(Steadier, orders_are_faster_by_a_percentile_too) {
  const auto steady = improved(varying(1), 20'000);
  ASSERT_TRUE(steady.has_value());
  EXPECT_GE(gain({.percentile = 90}, steady->rows, varying(1)), .02);
}

TEST(Steady, says_that_there_is_none_where_the_model_leaves_something_out) {
  const Posed pose = posed(
      "pipeline p { microbatches any; stages 2; place s on s; op F forward { needs F at prev via "
      "slots 1; } dispatch ready; }",
      4, 0);
  const auto own = pose.problem->of_own_dispatch();
  ASSERT_TRUE(own.has_value());
  EXPECT_FALSE(steady_order(pose.problem->program(), 4, varying(0), Objective::makespan, own->rows,
                            {.go_on = [] { return false; }})
                   .has_value());
}

}  // namespace
}  // namespace ripeline::optimise
