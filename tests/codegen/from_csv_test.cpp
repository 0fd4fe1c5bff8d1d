// Tests a PyTorch schedule in ripeline_add_schedule(): the generated arbiter has the file's order,
// as a comparison at build time ensures.
#include <gtest/gtest.h>

#include <array>

#include "from_csv.h"
#include "some_whole.h"

namespace ripeline::codegen {
namespace {

TEST(FromCsv, is_for_the_ranks_and_microbatches_of_the_file) {
  EXPECT_EQ(from_csv::facts.ranks, 2);
  EXPECT_EQ(from_csv::facts.min_microbatches, 2);
  EXPECT_EQ(from_csv::facts.max_microbatches, 2);
  EXPECT_TRUE(from_csv::facts.proved);
}

// A table of bits tells for each microbatch whether its backward is whole or split.
TEST(FromCsv, knows_which_of_many_microbatches_a_lane_has) {
  const auto& facts = some_whole::facts;
  std::array<int, 2> gradients{};
  int partial = 0;
  for (const auto& lane : facts.lanes) {
    const auto kind = facts.ops[static_cast<std::size_t>(lane.op)].kind;
    partial += lane.share.is_long() ? 1 : 0;
    if (kind != ripeline::core::OpKind::backward &&
        kind != ripeline::core::OpKind::backward_input) {
      continue;
    }
    gradients[static_cast<std::size_t>(lane.stage)] += facts.tasks_of(
        static_cast<ripeline::core::LaneId>(&lane - facts.lanes.data()), facts.min_microbatches);
  }
  EXPECT_EQ(gradients, (std::array{70, 70}));
  EXPECT_EQ(partial, 6);
}

}  // namespace
}  // namespace ripeline::codegen
