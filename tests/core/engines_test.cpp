#include "core/engines.h"

#include <gtest/gtest.h>

#include "tests/core/fake_program.h"

namespace ripeline::core {
namespace {

// 0F sends to 1F and, of all but the last microbatch, to 1B; both by rendezvous.
TEST(Engines, are_idle_when_nothing_runs_and_nothing_is_handed_over) {
  static constexpr EdgeFacts kEdges[] = {{0, 2, Of::same, -1, false, true},
                                         {0, 3, Of::before, -1, false, true}};
  ProgramFacts facts = fake::kFacts;
  facts.edges = kEdges;
  Engines engines(facts, 0);
  engines.begin_step(2);
  engines.started({0, 0});
  EXPECT_FALSE(engines.idle(Engine::compute));
  EXPECT_TRUE(engines.idle(Engine::copy_in));
  engines.finished({0, 0});
  engines.taken({1, 0});
  EXPECT_FALSE(engines.idle(Engine::compute)) << "one is left";
  engines.taken({0, 0});
  EXPECT_TRUE(engines.idle(Engine::compute));
  engines.started({0, 1});
  engines.finished({0, 1});
  engines.taken({0, 1});
  EXPECT_TRUE(engines.idle(Engine::compute)) << "no task needs the last one";
}

}  // namespace
}  // namespace ripeline::core
