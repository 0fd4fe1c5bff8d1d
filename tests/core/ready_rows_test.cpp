#include "core/ready_rows.h"

#include <gtest/gtest.h>

#include "tests/core/fake_program.h"

namespace ripeline::core::ready_rows_test {
namespace {

TEST(ReadyRows, has_a_task_once_all_its_needs_are_met) {
  ReadyRows rows(fake::kFacts, 0);
  ASSERT_TRUE(rows.begin_step(3).ok());
  EXPECT_EQ(rows.offer(0, nullptr), fake::start(0, 0));
  EXPECT_FALSE(rows.offer(1, nullptr).starts());
  rows.arrived({1, 0});
  EXPECT_FALSE(rows.contains({1, 0})) << "0F0 has not ended";
  rows.started({0, 0});
  EXPECT_EQ(rows.offer(0, nullptr), fake::start(0, 1));
  rows.finished({0, 0});
  EXPECT_EQ(rows.offer(1, nullptr), fake::start(1, 0));
  EXPECT_FALSE(rows.contains({1, 5})) << "beyond the last microbatch";
  EXPECT_FALSE(rows.contains({}));
}

TEST(ReadyRows, offers_among_what_is_allowed) {
  ReadyRows rows(fake::kFacts, 0);
  ASSERT_TRUE(rows.begin_step(3).ok());
  TaskSet allowed;
  rows.reset(allowed);
  EXPECT_FALSE(rows.offer(0, &allowed).starts());
  allowed.add({0, 2});
  EXPECT_EQ(rows.offer(0, &allowed), fake::start(0, 2));
  EXPECT_FALSE(rows.offer(-1, &allowed).starts());
}

TEST(ReadyRows, starts_sequential_ops_one_after_another) {
  constexpr OpFacts kOps[] = {{"F", OpKind::forward, true}, {"B", OpKind::backward}};
  ProgramFacts facts = fake::kFacts;
  facts.ops = kOps;
  ReadyRows rows(facts, 0);
  ASSERT_TRUE(rows.begin_step(2).ok());
  rows.started({0, 0});
  EXPECT_FALSE(rows.offer(0, nullptr).starts());
  rows.finished({0, 0});
  EXPECT_EQ(rows.offer(0, nullptr), fake::start(0, 1));
  rows.started({0, 1});
  rows.finished({0, 1});
  EXPECT_FALSE(rows.offer(0, nullptr).starts());
}

// 0B needs the previous 0F; 1G runs once and needs every 1F, which needs 0F of another rank.
TEST(ReadyRows, counts_tasks_of_other_microbatches) {
  constexpr OpFacts kOps[] = {{"F", OpKind::forward}, {"G", OpKind::reduce}};
  constexpr LaneFacts kLanes[] = {{0, 0, 0, 0, Engine::compute},
                                  {1, 0, 0, 0, Engine::compute},
                                  {0, 1, 1, 0, Engine::compute},
                                  {1, 1, 1, 0, Engine::compute, true}};
  constexpr EdgeFacts kEdges[] = {{0, 1, Of::before}, {0, 2}, {0, 3, Of::all}, {2, 3, Of::all}};
  ProgramFacts facts = fake::kFacts;
  facts.ops = kOps;
  facts.lanes = kLanes;
  facts.edges = kEdges;
  ReadyRows first(facts, 0);
  ASSERT_TRUE(first.begin_step(2).ok());
  EXPECT_EQ(first.offer(1, nullptr), fake::start(1, 0)) << "nothing is before the first";
  EXPECT_FALSE(first.contains({1, 1}));
  first.finished({0, 0});
  EXPECT_TRUE(first.contains({1, 1}));
  first.finished({0, 1});

  ReadyRows last(facts, 1);
  ASSERT_TRUE(last.begin_step(2).ok());
  for (const Message m : {Message{1, 0}, {1, 1}, {2, 0}, {2, 1}}) last.arrived(m);
  last.finished({2, 0});
  EXPECT_FALSE(last.contains({3, 0}));
  last.finished({2, 1});
  EXPECT_TRUE(last.contains({3, 0}));
  EXPECT_FALSE(last.contains({3, 1})) << "it has one task";
}

TEST(ReadyRows, knows_the_lanes_of_its_rank_and_refuses_counts_out_of_range) {
  ReadyRows rows(fake::kFacts, 1);
  EXPECT_EQ(rows.first_lane(), 2);
  EXPECT_EQ(rows.end_lane(), 4);
  const Status status = rows.begin_step(9);
  EXPECT_EQ(status.code(), StatusCode::invalid);
  EXPECT_EQ(status.message(), "chain: 9 microbatches are out of range");
}

}  // namespace
}  // namespace ripeline::core::ready_rows_test
