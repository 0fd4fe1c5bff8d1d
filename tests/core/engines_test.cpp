#include "core/engines.h"

#include <gtest/gtest.h>

#include "tests/core/fake_program.h"

namespace ripeline::core {
namespace {

// 0F sends each microbatch to 1F and each except the last to 1B, both by rendezvous.
TEST(Engines, take_a_task_when_nothing_runs_and_nothing_is_handed_over) {
  static constexpr EdgeFacts kEdges[] = {{0, 2, Of::same, -1, false, true},
                                         {0, 3, Of::before, -1, false, true}};
  ProgramFacts facts = fake::kFacts;
  facts.edges = kEdges;
  Engines engines(facts, 0);
  engines.begin_step(2);
  engines.started({0, 0});
  EXPECT_FALSE(engines.may_take(Engine::compute));
  EXPECT_TRUE(engines.may_take(Engine::copy_in));
  EXPECT_FALSE(engines.takes(Engine::copy_in, 0)) << "the lane is on another engine";
  engines.finished({0, 0});
  engines.taken({1, 0});
  EXPECT_FALSE(engines.takes(Engine::compute, 0)) << "one is left";
  engines.taken({0, 0});
  EXPECT_TRUE(engines.takes(Engine::compute, 0));
  engines.started({0, 1});
  engines.finished({0, 1});
  engines.taken({0, 1});
  EXPECT_TRUE(engines.takes(Engine::compute, 0)) << "no task needs the last one";
}

TEST(Engines, take_a_pair_and_no_third) {
  static constexpr PairFacts kPairs[] = {{1, 0}};
  ProgramFacts facts = fake::kFacts;
  facts.pairs = kPairs;
  Engines engines(facts, 0);
  engines.begin_step(2);
  engines.started({0, 0});
  EXPECT_FALSE(engines.takes(Engine::compute, 0)) << "it is no pair with itself";
  EXPECT_TRUE(engines.takes(Engine::compute, 1));
  engines.started({1, 0});
  EXPECT_FALSE(engines.may_take(Engine::compute));
  engines.finished({0, 0});
  EXPECT_TRUE(engines.takes(Engine::compute, 0)) << "beside the one that still runs";
  EXPECT_FALSE(engines.takes(Engine::compute, 1));
  engines.finished({1, 0});
  EXPECT_TRUE(engines.takes(Engine::compute, 1));
}

}  // namespace
}  // namespace ripeline::core
