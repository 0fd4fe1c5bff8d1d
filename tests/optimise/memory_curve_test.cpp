// Tests which memories a curve has, and what one of its points implies for others.
#include "optimise/memory_curve.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "optimise/memory_curve_report.h"

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
