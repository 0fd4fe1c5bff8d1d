// Tests how much memory a step takes, and the largest number of microbatches that fits.
#include "spec/footprint.h"

#include <gtest/gtest.h>

#include "spec/elaborate.h"
#include "spec/library.h"

namespace ripeline::spec {
namespace {

TEST(Footprint, counts_tasks_messages_and_microbatches) {
  // Each microbatch has four forwards, four backwards and six messages.
  const Program bf = compile({"bf", std::string(*library_text("bf"))}).value();
  const KeptBytes kept{.task = 100, .message = 10, .microbatch = 140};  // 1,000 for each microbatch
  EXPECT_EQ(too_large(bf, 8'000'000, kept), std::nullopt);
  EXPECT_EQ(
      too_large(bf, 8'000'001, kept),
      "a step of 8000001 microbatches has 64000008 tasks and would take about 8 GB of memory, "
      "and at most 8 GB are taken: the most microbatches that fit are -m 8000000");
  EXPECT_EQ(too_large(bf, 1'000'000'000, kept),
            "a step of 1000000000 microbatches has 8000000000 tasks and would take about 1000 GB "
            "of memory, and at most 8 GB are taken: the most microbatches that fit are -m 8000000");
  EXPECT_EQ(
      too_large(bf, 1, {.task = kMostBytes}),
      "a step of 1 microbatches has 8 tasks and would take about 64 GB of memory, and at most "
      "8 GB are taken: one microbatch is too much already: fewer ranks or stages take less");
}

}  // namespace
}  // namespace ripeline::spec
