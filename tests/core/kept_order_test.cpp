#include "core/kept_order.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ripeline::core::kept_order_test {
namespace {

// One rank with two chunks and one pool: F and G acquire 1 at their start, B and H release it.
constexpr LaneId kF = 0;
constexpr LaneId kB = 1;
constexpr LaneId kG = 2;
constexpr LaneId kH = 3;
constexpr OpFacts kOps[] = {{"F", OpKind::forward}, {"B", OpKind::backward}};
constexpr LaneFacts kLanes[] = {{0, 0, 0, 0, Engine::compute},
                                {1, 0, 0, 0, Engine::compute},
                                {0, 1, 0, 1, Engine::compute},
                                {1, 1, 0, 1, Engine::compute}};

// The room that is kept for an order, while tasks run one after another.
class Kept {
 public:
  // `leaving` is the amount that must remain free beside an F.
  Kept(std::int64_t capacity, int microbatches, const std::vector<LaneId>& places, int leaving = 0)
      : pools_{{"memory", "", 0, -1, -1, capacity}},
        uses_{{kF, 0, 1, 0, leaving}, {kB, 0, 0, 1}, {kG, 0, 1, 0}, {kH, 0, 0, 1}},
        facts_{.core_version = kCoreVersion,
               .name = "kept",
               .hash = 1,
               .proved = true,
               .ranks = 1,
               .stages = 2,
               .min_microbatches = 1,
               .max_microbatches = 0,
               .ops = kOps,
               .lanes = kLanes,
               .edges = {},
               .pools = pools_,
               .uses = uses_},
        kept_(facts_, 0) {
    std::vector<Task> tasks;
    for (const LaneId lane : places) tasks.push_back({lane, 0});
    order_.reset({0, 4}, tasks);
    kept_.begin_step(microbatches, order_);
  }

  [[nodiscard]] bool admits(LaneId lane) const {
    return kept_.admits(lane, [this](int /*pool*/) { return held_; });
  }
  void run(LaneId lane) {
    order_.started(lane);
    kept_.started();
    held_ += lane == kF || lane == kG ? 1 : -1;
  }

 private:
  std::vector<PoolFacts> pools_;
  std::vector<UseFacts> uses_;
  ProgramFacts facts_;
  FollowedOrder order_;
  KeptOrder kept_;
  std::int64_t held_ = 0;
};

const std::vector<LaneId> kOneByOne = {kF, kG, kH, kB, kF, kG, kH, kB};

TEST(KeptOrder, admits_what_is_next_whatever_is_held) {
  const Kept kept(0, 2, kOneByOne);
  EXPECT_TRUE(kept.admits(kF)) << "room for the task itself is looked at elsewhere";
}

TEST(KeptOrder, keeps_room_for_what_the_order_lists_before) {
  for (const std::int64_t capacity : {2, 3}) {
    Kept kept(capacity, 2, kOneByOne);
    kept.run(kF);
    EXPECT_EQ(kept.admits(kF), capacity == 3) << "F1 takes the second place, G0 needs one";
    EXPECT_TRUE(kept.admits(kG));
  }
}

TEST(KeptOrder, what_only_releases_needs_no_room) {
  Kept kept(2, 2, kOneByOne);
  kept.run(kF);
  kept.run(kG);
  EXPECT_TRUE(kept.admits(kF)) << "before F1 there are H0 and B0 alone";
  EXPECT_TRUE(kept.admits(kB));
}

// H0, F0 and G1 are next. If G1 runs first, and H0 has released, F0 starts while 1 is held.
TEST(KeptOrder, keeps_what_must_remain_free_too) {
  for (const auto& [leaving, admitted] : {std::pair{1, true}, {2, false}}) {
    Kept kept(3, 2, {kG, kH, kF, kG, kB, kF, kH, kB}, leaving);
    kept.run(kG);
    EXPECT_EQ(kept.admits(kG), admitted) << leaving;
  }
}

TEST(KeptOrder, leaves_out_places_beyond_the_last_microbatch) {
  for (const int microbatches : {1, 2}) {
    const Kept kept(2, microbatches, {kF, kF, kG, kH, kB, kG, kH, kB});
    EXPECT_EQ(kept.admits(kG), microbatches == 1) << "F1, if there is one, finds no room";
  }
}

// F1 starts before G0. Then the second position of F is over, no matter which F ran there.
TEST(KeptOrder, skips_places_that_are_over) {
  Kept kept(3, 3, {kF, kG, kF, kF, kG, kG, kH, kB, kH, kB, kH, kB});
  kept.run(kF);
  EXPECT_TRUE(kept.admits(kF)) << "1 + G0 + F1 are 3";
  kept.run(kF);
  EXPECT_FALSE(kept.admits(kF)) << "F2 would be the third, and G0 is to come";
  kept.run(kG);
  EXPECT_TRUE(kept.admits(kF)) << "F0, G0 and F1 are over: F2 is next";
}

}  // namespace
}  // namespace ripeline::core::kept_order_test
