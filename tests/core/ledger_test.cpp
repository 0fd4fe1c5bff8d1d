#include "core/ledger.h"

#include <gtest/gtest.h>

#include "tests/core/fake_program.h"

namespace ripeline::core {
namespace {

TEST(Ledger, keeps_what_is_held_and_its_peak) {
  Ledger ledger(fake::kFacts);
  ledger.begin_step();
  EXPECT_TRUE(ledger.started({0, 0}).ok());
  EXPECT_TRUE(ledger.finished({0, 0}).ok());
  EXPECT_TRUE(ledger.started({0, 1}).ok());
  EXPECT_EQ(ledger.held(0), 2);
  EXPECT_TRUE(ledger.started({1, 0}).ok());
  EXPECT_EQ(ledger.held(0), 2) << "released at the end, not at the start";
  EXPECT_TRUE(ledger.finished({1, 0}).ok());
  EXPECT_EQ(ledger.held(0), 1);
  EXPECT_EQ(ledger.peak(0), 2);
  ledger.begin_step();
  EXPECT_EQ(ledger.held(0), 0);
  EXPECT_EQ(ledger.peak(0), 2) << "over all steps";
}

TEST(Ledger, reports_a_peak_above_the_proved_one) {
  Ledger ledger(fake::kFacts);
  ledger.begin_step();
  EXPECT_TRUE(ledger.started({0, 0}).ok());
  EXPECT_TRUE(ledger.started({0, 1}).ok());
  const Status status = ledger.started({0, 2});
  EXPECT_EQ(status.code(), StatusCode::breach);
  EXPECT_EQ(status.message(),
            "starting 0F2 makes activation of stage 0 3, and at most 2 was proved or has room");
}

// The bound is no proved peak, but the capacity less the amount that must stay free beside a task.
TEST(Ledger, reports_a_start_without_room) {
  static constexpr PoolFacts kPools[] = {{"memory", "", 0, -1, -1, 3}};
  static constexpr UseFacts kUses[] = {{0, 0, 1, 0, 1}, {1, 0, 1, 0}};
  ProgramFacts facts = fake::kFacts;
  facts.pools = kPools;
  facts.uses = kUses;
  Ledger ledger(facts);
  ledger.begin_step();
  EXPECT_TRUE(ledger.started({0, 0}).ok());
  EXPECT_TRUE(ledger.started({0, 1}).ok());
  EXPECT_EQ(Ledger(ledger).started({0, 2}).message(),
            "starting 0F2 makes memory of rank 0 3, and at most 2 was proved or has room");
  EXPECT_TRUE(ledger.started({1, 0}).ok()) << "it leaves nothing free";
  EXPECT_EQ(ledger.started({1, 1}).code(), StatusCode::breach);
}

TEST(Ledger, reports_a_release_of_what_is_not_held) {
  Ledger ledger(fake::kFacts);
  ledger.begin_step();
  const Status status = ledger.finished({3, 0});
  EXPECT_EQ(status.code(), StatusCode::breach);
  EXPECT_EQ(status.message(),
            "the end of 1B0 releases more of activation of stage 1 than is held, by 1");
}

}  // namespace
}  // namespace ripeline::core
