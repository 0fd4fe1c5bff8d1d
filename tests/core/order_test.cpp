#include "core/order.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/fraction.h"

namespace ripeline::core::order_test {
namespace {

// The ops are F (0) and G (1), a copy; rank 0 has F at both chunks, G at the first: lanes 0, 1, 2.
constexpr OpFacts kOps[] = {{"F", OpKind::forward}, {"G", OpKind::offload}};
constexpr LaneFacts kLanes[] = {
    {0, 0, 0, 0, Engine::compute}, {1, 0, 0, 0, Engine::copy_out}, {0, 1, 0, 1, Engine::compute}};

ProgramFacts facts() {
  ProgramFacts facts{};
  facts.ranks = 1;
  facts.ops = kOps;
  facts.lanes = kLanes;
  return facts;
}

TEST(OrderWriter, gives_each_place_its_lanes_next_microbatch) {
  const ProgramFacts all = facts();
  OrderWriter order(all, 0, 2);
  order.add(0, 0);
  order.add(0, 1);
  EXPECT_TRUE(order.has_left(0, 0));
  order.add(0, 0);
  order.add(1, 1);  // no such lane exists
  order.add(0, 2);
  order.add(0, -1);
  order.add(0, 0);
  EXPECT_EQ(order.tasks(), (std::vector<Task>{{0, 0}, {2, 0}, {0, 1}, {0, 2}}));
  EXPECT_FALSE(order.has_left(0, 0));
  EXPECT_TRUE(order.has_left(0, 1));
  EXPECT_FALSE(order.has_left(1, 1));
}

TEST(OrderWriter, binds_the_tasks_that_it_is_given) {
  const ProgramFacts all = facts();
  OrderWriter order(all, 0, 2);
  order.add(Task{1, 1});
  order.add(Task{1, 0});
  EXPECT_EQ(order.tasks(), (std::vector<Task>{{1, 1}, {1, 0}}));
}

TEST(CommittedOrder, keeps_each_engines_places_apart) {
  const ProgramFacts all = facts();
  CommittedOrder order;
  const std::vector<Task> tasks = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  order.reset(all, tasks);
  order.started(Engine::compute);
  EXPECT_EQ(order.next(Engine::compute), (Task{0, 1}));
  EXPECT_EQ(order.next(Engine::copy_out), (Task{1, 0}));
  EXPECT_EQ(order.next(Engine::copy_in), Task{});
  order.started(Engine::compute);
  EXPECT_EQ(order.next(Engine::compute), Task{});
}

TEST(FollowedTasks, leaves_out_the_first_that_have_started) {
  FollowedTasks order;
  order.reset(std::vector<Task>{{0, 1}, {0, 0}, {0, 2}});
  order.started(Task{0, 0});
  EXPECT_EQ(order.left().size(), 3U);
  order.started(Task{0, 1});
  ASSERT_EQ(order.left().size(), 1U);
  EXPECT_EQ(order.left().front(), (Task{0, 2}));
}

TEST(OrderStream, gives_its_items_but_those_of_lanes_without_one_left) {
  const ProgramFacts all = facts();
  OrderWriter order(all, 0, 3);
  for (int i = 0; i < 2; ++i) order.add(0, 1);
  OrderStream stream;
  stream.add(0, 0, 2);
  stream.add(1, 0, -1);
  stream.add(0, 1, 3);  // only one task is left
  stream.add(1, 0, 1);
  for (int i = 0; i < 6; ++i) stream.take(order);
  EXPECT_EQ(order.tasks(), (std::vector<Task>{{2, 0}, {2, 1}, {0, 0}, {0, 1}, {2, 2}, {1, 0}}));
}

TEST(FollowedOrder, knows_where_the_next_of_each_lane_stands) {
  FollowedOrder order;
  order.reset({4, 6}, std::vector<Task>{{4, 0}, {4, 1}, {5, 0}});
  EXPECT_EQ(order.next_place(4), 0);
  EXPECT_EQ(order.next_place(5), 2);
  order.started(4);
  order.started(5);
  EXPECT_EQ(order.next_place(4), 1);
  EXPECT_EQ(order.next_place(5), kNoPlace);
}

TEST(Order, divides_as_the_language_does) {
  struct Case {
    std::int64_t a, b, floor, ceil, mod;
  };
  for (const Case& c : {Case{7, 2, 3, 4, 1}, Case{-7, 2, -4, -3, 1}, Case{7, -2, -4, -3, -1},
                        Case{-7, -2, 3, 4, -1}, Case{6, 3, 2, 2, 0}, Case{0, 5, 0, 0, 0}}) {
    EXPECT_EQ(floor_div(c.a, c.b), c.floor) << c.a << " " << c.b;
    EXPECT_EQ(ceil_div(c.a, c.b), c.ceil) << c.a << " " << c.b;
    EXPECT_EQ(floor_mod(c.a, c.b), c.mod) << c.a << " " << c.b;
    EXPECT_EQ(floor_div(Fraction(c.a), c.b).whole(), c.floor);
    EXPECT_EQ(ceil_div(Fraction(c.a), c.b).whole(), c.ceil);
    EXPECT_EQ(floor_mod(Fraction(c.a), c.b).whole(), c.mod);
  }
}

TEST(Fraction, is_exact) {
  EXPECT_EQ(Fraction(1, 3) + Fraction(1, 6), Fraction(1, 2));
  EXPECT_EQ(Fraction(2, -4), Fraction(-1, 2));
  EXPECT_EQ(Fraction(1, 3) * 3, 1);
  EXPECT_EQ(Fraction(5) / 2 - 2, Fraction(1, 2));
  EXPECT_LT(Fraction(1, 3), Fraction(1, 2));
  EXPECT_LT(2, Fraction(5, 2));
  EXPECT_EQ(floor(Fraction(-1, 2)), -1);
  EXPECT_EQ(ceil(Fraction(-1, 2)), 0);
}

}  // namespace
}  // namespace ripeline::core::order_test
