// Tests that certified() accepts a true claim, and returns an error for each kind of false claim.
#include "optimise/certified.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "optimise/search/search.h"
#include "optimise/uniform.h"
#include "tests/optimise/problems.h"

namespace ripeline::optimise {
namespace {

constexpr Uniform kChain{.ranks = 2,
                         .microbatches = 3,
                         .forward = 4,
                         .input = 3,
                         .weight = 2,
                         .latency = 1,
                         .memory = 2};

TimedOrder found_order(const Problem& problem) {
  TimedOrder best;
  search(problem, 0, {.go_on = [asked = 0]() mutable { return ++asked < 50; }},
         [&](const TimedOrder& order, std::string_view) { best = order; });
  return best;
}

Claim claim_of(const Posed& posed) {
  return {.problem = *posed.problem,
          .source = posed.source,
          .read_file = {},
          .bound = posed.problem->bound(),
          .order = found_order(*posed.problem)};
}

// The first error, or an empty text.
std::string error_of(const Claim& claim) {
  const auto made = certified(claim, {});
  return made.ok() ? "" : made.errors().front().message;
}

TEST(Certified, is_what_was_found) {
  for (const pytorch::Placement placement : {pytorch::Placement::chain, pytorch::Placement::v}) {
    Uniform uniform = kChain;
    uniform.placement = placement;
    const Posed problem = posed(uniform);
    const Claim claim = claim_of(problem);
    const auto made = certified(claim, {"a comment"});
    ASSERT_TRUE(made.ok()) << made.errors().front().message;
    EXPECT_EQ(made.value().text.substr(0, 12), "# a comment\n");
    EXPECT_TRUE(made.value().verdict.proved.has_value());
    EXPECT_EQ(made.value().run.makespan.count(), claim.order.makespan);
  }
}

TEST(Certified, names_each_lie) {
  struct Lie {
    std::function<void(Claim&)> tell;
    std::string says;
  };
  const Lie lies[] = {
      {[](Claim& c) { --c.order.makespan; }, "the search says a wall of"},
      {[](Claim& c) { ++c.order.span; }, "the search says a span of"},
      {[](Claim& c) { --c.order.peaks.back(); }, "the search says that activation of rank 1 holds"},
      {[](Claim& c) { c.bound.value = c.order.makespan + 1; }, "which is below the bound"},
      {[](Claim& c) { c.order.rows[0].pop_back(); }, "is not proved"},
      {[](Claim& c) { c.order.rows[1].push_back(c.order.rows[1].back()); }, "is not proved"},
      {[](Claim& c) { std::swap(c.order.rows[1].front(), c.order.rows[1].back()); },
       "is not proved"},
  };
  const Posed problem = posed(kChain);
  const Claim claim = claim_of(problem);
  ASSERT_EQ(error_of(claim), "");
  for (const Lie& lie : lies) {
    Claim told = claim;
    lie.tell(told);
    const std::string error = error_of(told);
    EXPECT_NE(error.find(lie.says), std::string::npos) << error;
    EXPECT_NE(error.find("This is a defect of Ripeline."), std::string::npos) << error;
  }
}

// The order needs more room than the program has.
TEST(Certified, is_not_what_does_not_fit) {
  Uniform smaller = kChain;
  smaller.memory = 1;
  const Posed problem = posed(kChain);
  const Posed other = posed(smaller);
  Claim claim = claim_of(problem);
  const Claim told{.problem = *other.problem,
                   .source = other.source,
                   .read_file = {},
                   .bound = {},
                   .order = claim.order};
  EXPECT_NE(error_of(told).find("is not proved"), std::string::npos) << error_of(told);
}

}  // namespace
}  // namespace ripeline::optimise
