// Tests which memories a curve has, and what one of its points implies for others.
#include "optimise/memory_curve.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "optimise/memory_curve_report.h"
#include "spec/long_work.h"

namespace ripeline::optimise {
namespace {

using Texts = std::vector<std::string>;

CurvePoint point_at(std::string memory, Time value, Time bound) {
  CurvePoint point;
  point.memory = std::move(memory);
  point.fits = true;
  point.found = true;
  point.value = value;
  point.bound = bound;
  return point;
}

TEST(MemoryCurve, goes_in_steps_of_a_microbatch) {
  EXPECT_EQ(memories_of({.memory = "2..4.5"}).value(), (Texts{"2", "3", "4"}));
  EXPECT_EQ(memories_of({.memory = "4GB..8GB", .activation = {"2GB", "1GB"}}).value(),
            (Texts{"4GB", "6GB", "8GB"}));
  EXPECT_FALSE(memories_of({.memory = "4GB..8GB"}).ok()) << "what a microbatch holds is not given";
  EXPECT_FALSE(memories_of({.memory = "8..4"}).ok());
  EXPECT_FALSE(memories_of({.memory = "1..101"}).ok()) << "too many";
}

TEST(MemoryCurve, never_takes_longer_with_more_memory) {
  const CurvePoint less = point_at("2", 10, 8);
  CurvePoint more = point_at("3", 12, 7);
  carry_up(less, more);
  EXPECT_EQ(more.value, 10);
  EXPECT_EQ(more.bound, 7);
  CurvePoint faster = point_at("4", 9, 7);
  carry_up(more, faster);
  EXPECT_EQ(faster.value, 9);
}

TEST(MemoryCurve, has_a_bound_for_less_memory_from_more) {
  std::vector<CurvePoint> points = {point_at("2", 10, 5), point_at("3", 9, 8), point_at("4", 9, 6)};
  carry_bounds_down(points);
  EXPECT_EQ(points[0].bound, 8);
  EXPECT_EQ(points[1].bound, 8);
  EXPECT_EQ(points[2].bound, 6);
}

// The proof of a point's order has parts, too, which would replace its name.
TEST(MemoryCurve, names_the_memory_that_it_searches) {
  Texts parts;
  const spec::LongWork work({}, [&](const std::string& part) { parts.push_back(part); });
  std::vector<std::size_t> improvements(2, 0);
  CurveOptions options;
  options.improved = [&](const FormSearch::Improvement& step, const Problem& problem) {
    EXPECT_GE(problem.in_units(step.value), problem.in_units(step.bound));
    improvements.at(parts.size() - 1) += 1;
  };
  const auto curve = memory_curve({.ranks = 2, .microbatches = 4, .memory = "1..2"}, options);
  ASSERT_TRUE(curve.ok());
  EXPECT_TRUE(curve.value().points.at(0).found && curve.value().points.at(1).found);
  EXPECT_EQ(parts, (Texts{"memory 1", "memory 2"}));
  EXPECT_GT(improvements[0], 0U);
  EXPECT_GT(improvements[1], 0U);
}

TEST(MemoryCurve, is_json_with_a_status_for_each_memory) {
  MemoryCurve curve;
  CurvePoint none;
  none.memory = "1";
  curve.points = {none, point_at("2", 10, 8), point_at("3", 9, 9)};
  const nlohmann::json json = memory_curve_json(curve);
  EXPECT_EQ(json["points"][0], (nlohmann::json{{"memory", 1.0}, {"status", "infeasible"}}));
  EXPECT_EQ(json["points"][1]["status"], "feasible");
  EXPECT_EQ(json["points"][2]["status"], "optimal");
}

}  // namespace
}  // namespace ripeline::optimise
