// Tests all that can keep a task from starting, in the order in which blocks() lists it.
#include "core/blocks.h"

#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/fake_program.h"

namespace ripeline::core::blocks_test {
namespace {

using By = Block::By;

// A state of rank 0 of the chain, where 0B (lane 1) needs 0F by edge 0 and 1B by edge 1.
struct FakeState {
  std::set<std::pair<EdgeId, int>> here;
  std::set<std::pair<LaneId, int>> ended;
  bool idle = true;
  std::int64_t holds = 0;
  Task first = {};

  [[nodiscard]] static int microbatches() { return 4; }
  [[nodiscard]] bool is_here(EdgeId edge, int m) const { return here.contains({edge, m}); }
  [[nodiscard]] bool has_ended(Task task) const {
    return ended.contains({task.lane, task.microbatch});
  }
  [[nodiscard]] bool takes(LaneId /*lane*/) const { return idle; }
  [[nodiscard]] std::int64_t held(int /*pool*/) const { return holds; }
  [[nodiscard]] Task next(LaneId /*lane*/) const { return first; }
};

std::vector<Block> blocks(const ProgramFacts& facts, const FakeState& state, Task task) {
  std::vector<Block> all;
  each_block(facts, state, task, [&](const Block& block) {
    all.push_back(block);
    return false;
  });
  return all;
}

std::vector<By> reasons(const ProgramFacts& facts, const FakeState& state, Task task) {
  std::vector<By> found;
  for (const Block& block : blocks(facts, state, task)) found.push_back(block.by);
  return found;
}

TEST(Blocks, are_needs_first) {
  FakeState state;
  const std::vector<Block> both = blocks(fake::kFacts, state, {1, 2});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].message, (Message{0, 2}));
  EXPECT_EQ(both[1].message, (Message{1, 2}));
  state.here = {{0, 2}, {1, 2}};
  EXPECT_EQ(reasons(fake::kFacts, state, {1, 2}), std::vector<By>{});
}

TEST(Blocks, are_sequence_engine_room_and_turn) {
  constexpr OpFacts kOps[] = {{"F", OpKind::forward, true}, {"B", OpKind::backward}};
  constexpr PoolFacts kPools[] = {{"activation", "", 0, 0, -1, 3}, {"activation", "", 1, 1, -1, 3}};
  ProgramFacts facts = fake::kFacts;
  facts.ops = kOps;
  facts.pools = kPools;
  FakeState state{.here = {}, .ended = {}, .idle = false, .holds = 3, .first = {1, 0}};
  EXPECT_EQ(reasons(facts, state, {0, 1}),
            (std::vector<By>{By::sequence, By::engine, By::room, By::turn}));
  const std::vector<Block> all = blocks(facts, state, {0, 1});
  EXPECT_EQ(all[2].use.pool, 0);
  EXPECT_EQ(all[2].room.capacity, 3);
  EXPECT_EQ(all[2].held, 3);
  EXPECT_EQ(all[3].next, (Task{1, 0}));
  EXPECT_EQ(reasons(facts, state, {0, 0}), (std::vector<By>{By::engine, By::room, By::turn}));
  state = {.here = {}, .ended = {{0, 0}}, .idle = true, .holds = 2, .first = {0, 1}};
  EXPECT_EQ(reasons(facts, state, {0, 1}), std::vector<By>{});
}

TEST(Blocks, stop_when_one_is_enough) {
  int asked = 0;
  each_block(fake::kFacts, FakeState{}, {1, 0}, [&](const Block& /*block*/) {
    ++asked;
    return true;
  });
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace ripeline::core::blocks_test
