// What a search claims is believed only where the proof and the simulator agree: each lie is named.
#include "optimise/certified.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "optimise/search/search.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {
namespace {

constexpr Uniform kChain{.ranks = 2,
                         .microbatches = 3,
                         .forward = 4,
                         .input = 3,
                         .weight = 2,
                         .latency = 1,
                         .memory = 2};

FoundOrder found_order(const Uniform& problem) {
  FoundOrder best;
  search(problem, Objective::wall, 0, {.go_on = [asked = 0]() mutable { return ++asked < 50; }},
         [&](const FoundOrder& order, std::string_view) { best = order; });
  return best;
}

Claim claim_of(const Uniform& problem) {
  return {.problem = problem,
          .unit = 2,
          .objective = Objective::wall,
          .bound = lower_bound(problem, Objective::wall),
          .order = found_order(problem)};
}

// The first error, or nothing.
std::string error_of(const Claim& claim) {
  const auto made = certified(claim, {});
  return made.ok() ? "" : made.errors().front().message;
}

TEST(Certified, is_what_was_found) {
  for (const spec::Placement placement : {spec::Placement::chain, spec::Placement::v}) {
    Uniform problem = kChain;
    problem.placement = placement;
    const Claim claim = claim_of(problem);
    const auto made = certified(claim, {"a comment"});
    ASSERT_TRUE(made.ok()) << made.errors().front().message;
    EXPECT_EQ(made.value().text.substr(0, 12), "# a comment\n");
    EXPECT_TRUE(made.value().verdict.proved.has_value());
    EXPECT_EQ(made.value().run.makespan.count() * 2,
              claim.order.wall * made.value().timing.unit().nanoseconds);
  }
}

TEST(Certified, names_each_lie) {
  struct Lie {
    std::function<void(Claim&)> tell;
    std::string says;
  };
  const Lie lies[] = {
      {[](Claim& c) { --c.order.wall; }, "the search says a wall of"},
      {[](Claim& c) { ++c.order.span; }, "the search says a span of"},
      {[](Claim& c) { --c.order.peak; }, "the search says a peak of"},
      {[](Claim& c) { c.bound.value = c.order.wall + 1; }, "which is below the bound"},
      {[](Claim& c) { c.order.rows[0].pop_back(); }, "is not proved"},
      {[](Claim& c) { c.order.rows[1].push_back(c.order.rows[1].back()); }, "is not proved"},
      {[](Claim& c) { std::swap(c.order.rows[1].front(), c.order.rows[1].back()); },
       "is not proved"},
      {[](Claim& c) { c.problem.memory = c.order.peak - 1; }, "is not proved"},
  };
  const Claim claim = claim_of(kChain);
  ASSERT_EQ(error_of(claim), "");
  for (const Lie& lie : lies) {
    Claim told = claim;
    lie.tell(told);
    const std::string error = error_of(told);
    EXPECT_NE(error.find(lie.says), std::string::npos) << error;
    EXPECT_NE(error.find("This is a defect of Ripeline."), std::string::npos) << error;
  }
}

// Times that are too long for 64 bits once they are in nanoseconds of a part of the unit.
TEST(Certified, compares_large_times_exactly) {
  Uniform problem = kChain;
  problem.forward = problem.input = problem.weight = 1'000'000'000'000'000;
  Claim claim = claim_of(problem);
  claim.unit = 1'000'000;
  EXPECT_EQ(error_of(claim), "");
  ++claim.order.wall;
  EXPECT_NE(error_of(claim), "");
}

}  // namespace
}  // namespace ripeline::optimise
