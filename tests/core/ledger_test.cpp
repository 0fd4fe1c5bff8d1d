#include "core/ledger.h"

#include <gtest/gtest.h>

#include "tests/core/fake_program.h"

namespace ripeline::core {
namespace {

TEST(Ledger, keeps_what_is_held_and_its_peak) {
  Ledger ledger(fake::kFacts, 0);
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
  Ledger ledger(fake::kFacts, 0);
  ledger.begin_step();
  EXPECT_TRUE(ledger.started({0, 0}).ok());
  EXPECT_TRUE(ledger.started({0, 1}).ok());
  const Status status = ledger.started({0, 2});
  EXPECT_EQ(status.code(), StatusCode::breach);
  EXPECT_EQ(status.message(),
            "rank 0: starting 0F2 makes activation of stage 0 3, above the proved peak of 2");
}

TEST(Ledger, reports_a_release_of_what_is_not_held) {
  Ledger ledger(fake::kFacts, 1);
  ledger.begin_step();
  const Status status = ledger.finished({3, 0});
  EXPECT_EQ(status.code(), StatusCode::breach);
  EXPECT_EQ(status.message(),
            "rank 1: the end of 1B0 releases more of activation of stage 1 than is held, by 1");
}

}  // namespace
}  // namespace ripeline::core
