// Tests gains of paired runs, their intervals, and the doubt that a dispatch is truly slower.
#include "optimise/racing/gain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ripeline::optimise {
namespace {

TEST(Gain, of_a_mean_has_the_interval_of_student_s_t) {
  // The values 1 to 5 have mean 3 and standard error sqrt(2.5 / 5); t of four degrees is 2.776.
  const std::vector<double> logs = {1, 2, 3, 4, 5};
  const Gain gain = gain_of(logs);
  EXPECT_NEAR(std::log(gain.ratio), 3, 1e-12);
  EXPECT_NEAR(std::log(gain.low), 3 - 2.776 * std::sqrt(0.5), 0.01);
  EXPECT_NEAR(std::log(gain.high), 3 + 2.776 * std::sqrt(0.5), 0.01);
  EXPECT_EQ(gain.runs, 5);
  const Gain one = gain_of(std::vector<double>{0.5});
  EXPECT_EQ(one.low, 0);
  EXPECT_EQ(one.high, HUGE_VAL);
  const Gain sure = gain_of(std::vector<double>{0.5, 0.5, 0.5});
  EXPECT_EQ(sure.low, sure.high);
}

// The expected values come from numeric integration of the beta distribution.
TEST(Estimator, of_a_percentile_is_harrell_and_davis_s) {
  const std::vector<double> squares = {64, 1, 36, 9, 100, 25, 16, 49, 4, 81};
  const auto of = [&](int percent) { return Estimator({percent}, squares.size()).of(squares); };
  EXPECT_NEAR(of(10), 3.149900, 1e-6);
  EXPECT_NEAR(of(50), 32.416609, 1e-6);
  EXPECT_NEAR(of(75), 65.672041, 1e-6);
  EXPECT_NEAR(of(90), 89.722434, 1e-6);
  EXPECT_NEAR(Estimator({}, squares.size()).of(squares), 38.5, 1e-12);
}

TEST(Estimator, counts_a_value_as_often_as_it_is_there) {
  for (const Measure measure : {Measure{}, Measure{.percentile = 80}}) {
    const Estimator estimator(measure, 6);
    const std::vector<double> ascending = {1, 3, 4, 9, 20, 50};
    const std::vector<int> counts = {2, 0, 1, 0, 3, 0};
    EXPECT_NEAR(estimator.of(ascending, counts), estimator.of({1, 1, 4, 20, 20, 20}), 1e-12);
  }
}

TEST(Measure, has_a_name_and_asks_for_five_runs_on_either_side) {
  EXPECT_EQ(name_of(Measure{}), "geometric mean");
  EXPECT_EQ(least_runs({}), 2);
  const struct {
    int percentile;
    const char* name;
    int runs;
  } rows[] = {{1, "1st percentile", 500},  {2, "2nd percentile", 250},
              {13, "13th percentile", 39}, {23, "23rd percentile", 22},
              {50, "50th percentile", 10}, {95, "95th percentile", 100},
              {99, "99th percentile", 500}};
  for (const auto& row : rows) {
    EXPECT_EQ(name_of(Measure{row.percentile}), row.name);
    EXPECT_EQ(least_runs({row.percentile}), row.runs) << row.name;
  }
}

// Runs of two dispatches under the same draws; one of them has a heavier tail.
struct Pairs {
  std::vector<double> a = {};
  std::vector<double> b = {};
};
Pairs drawn_pairs(std::mt19937_64& random, int runs) {
  std::normal_distribution<double> normal;
  Pairs pairs;
  for (int i = 0; i < runs; ++i) {
    const double both = normal(random);
    pairs.a.push_back(.1 * (.8 * both + .6 * normal(random)));
    pairs.b.push_back(.05 * (.8 * both + .6 * normal(random)));
  }
  return pairs;
}

// Percentiles of normal logarithms with spreads .1 and .05 differ by .05 times a normal quantile.
TEST(Gain, of_a_percentile_lies_in_its_interval_with_the_confidence_that_it_claims) {
  constexpr int kTries = 400;
  const struct {
    int percentile;
    double quantile;
  } rows[] = {{50, 0}, {90, 1.281552}, {95, 1.644854}};
  for (const auto& [percentile, quantile] : rows) {
    std::mt19937_64 random(static_cast<std::uint64_t>(percentile));
    const Measure measure{percentile};
    int inside = 0;
    for (int i = 0; i < kTries; ++i) {
      const Pairs pairs = drawn_pairs(random, least_runs(measure));
      const Gain gain = gain_over(pairs.a, pairs.b, measure);
      EXPECT_LE(gain.low, gain.ratio);
      EXPECT_LE(gain.ratio, gain.high);
      const double truth = std::exp(.05 * quantile);
      inside += gain.low <= truth && truth <= gain.high ? 1 : 0;
    }
    RecordProperty("inside_" + std::to_string(percentile), inside);
    EXPECT_GE(inside, kTries * 92 / 100) << percentile;
    EXPECT_LE(inside, kTries * 99 / 100) << percentile;
  }
}

TEST(Doubt, is_student_s_of_a_mean) {
  const std::vector<double> none(5);
  EXPECT_NEAR(doubt_that_slower(std::vector<double>{1, 2, 3, 4, 5}, none, {}), .0066178, 1e-7);
  EXPECT_EQ(doubt_that_slower(none, std::vector<double>{1, 2, 3, 4, 5}, {}), 1);
  EXPECT_EQ(doubt_that_slower(none, none, {}), 1);
  EXPECT_EQ(doubt_that_slower(std::vector<double>(5, 1), none, {}), 0);
}

// If two dispatches are equally fast, the doubt that one is slower is below 5 % in 1 of 20 tries.
TEST(Doubt, is_as_often_small_as_it_says) {
  constexpr int kTries = 400;
  for (const Measure measure : {Measure{}, Measure{.percentile = 50}, Measure{.percentile = 90}}) {
    std::mt19937_64 random(7);
    int slower = 0;
    for (int i = 0; i < kTries; ++i) {
      const std::vector<double> one = drawn_pairs(random, 50).a;
      const std::vector<double> other = drawn_pairs(random, 50).a;
      slower += doubt_that_slower(one, other, measure) < .05 ? 1 : 0;
    }
    RecordProperty("slower_by_" + std::to_string(measure.percentile.value_or(0)), slower);
    EXPECT_GE(slower, kTries * 2 / 100) << name_of(measure);
    EXPECT_LE(slower, kTries * 8 / 100) << name_of(measure);
  }
}

}  // namespace
}  // namespace ripeline::optimise
