// Tests that a bound's explanation follows from its formula and from its pool or engine, if any.
#include "optimise/what_binds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/optimise/problems.h"

namespace ripeline::optimise {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Posed small_model() {
  return posed(Uniform{.ranks = 2,
                       .microbatches = 2,
                       .forward = 1,
                       .input = 1,
                       .weight = 1,
                       .latency = 0,
                       .memory = 2});
}

TEST(WhatBinds, says_whether_an_order_reaches_the_bound) {
  const Posed model = small_model();
  const Bound bound{1, "cycle of rank 0", Formula::cycle};
  EXPECT_THAT(what_binds(*model.problem, bound, true),
              StartsWith("what binds: memory: each place"));
  EXPECT_THAT(what_binds(*model.problem, bound, false), StartsWith("the bound counts memory"));
  EXPECT_EQ(what_binds(*model.problem, {}, true), "");
}

TEST(WhatBinds, knows_pools_and_engines) {
  const Posed model = small_model();
  const auto words = [&](Formula formula, const char* of) {
    return what_binds(*model.problem, {1, "whatever stands here", formula, of}, true);
  };
  EXPECT_THAT(words(Formula::room, ""), HasSubstr("the ways down and up"));
  EXPECT_THAT(words(Formula::room, "memory of rank 0"), HasSubstr("its acquire to its release"));
  EXPECT_THAT(words(Formula::work, "reduce"), HasSubstr("tasks run on reduce one after the other"));
  EXPECT_THAT(words(Formula::work, ""), HasSubstr("start-up, work and drain"));
}

}  // namespace
}  // namespace ripeline::optimise
