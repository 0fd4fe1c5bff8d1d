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

// The first error, or nothing.
std::string error_of(const Uniform& problem, const FoundOrder& order) {
  const auto made = certified(problem, order, 1, {});
  return made.ok() ? "" : made.errors().front().message;
}

TEST(Certified, is_what_was_found) {
  for (const spec::Placement placement : {spec::Placement::chain, spec::Placement::v}) {
    Uniform problem = kChain;
    problem.placement = placement;
    const FoundOrder order = found_order(problem);
    const auto made = certified(problem, order, 2, {"a comment"});
    ASSERT_TRUE(made.ok()) << made.errors().front().message;
    EXPECT_EQ(made.value().text.substr(0, 12), "# a comment\n");
    EXPECT_TRUE(made.value().verdict.proved.has_value());
    EXPECT_EQ(made.value().run.makespan.count() * 2,
              order.wall * made.value().timing.unit().nanoseconds);
  }
}

TEST(Certified, names_each_lie) {
  struct Lie {
    std::function<void(FoundOrder&)> tell;
    std::string says;
  };
  const Lie lies[] = {
      {[](FoundOrder& o) { --o.wall; }, "the search says a wall of"},
      {[](FoundOrder& o) { ++o.span; }, "the search says a span of"},
      {[](FoundOrder& o) { --o.peak; }, "the search says a peak of"},
      {[](FoundOrder& o) { o.rows[0].pop_back(); }, "is not proved"},
      {[](FoundOrder& o) { o.rows[1].push_back(o.rows[1].back()); }, "is not proved"},
      {[](FoundOrder& o) { std::swap(o.rows[1].front(), o.rows[1].back()); }, "is not proved"},
  };
  const FoundOrder order = found_order(kChain);
  ASSERT_EQ(error_of(kChain, order), "");
  for (const Lie& lie : lies) {
    FoundOrder told = order;
    lie.tell(told);
    const std::string error = error_of(kChain, told);
    EXPECT_NE(error.find(lie.says), std::string::npos) << error;
    EXPECT_NE(error.find("This is a defect of Ripeline."), std::string::npos) << error;
  }
  Uniform smaller = kChain;
  smaller.memory = order.peak - 1;
  EXPECT_NE(error_of(smaller, order).find("is not proved"), std::string::npos);
}

}  // namespace
}  // namespace ripeline::optimise
