#include "core/order.h"

#include <gtest/gtest.h>

#include <string>

#include "core/fraction.h"

namespace ripeline::core {
namespace {

TEST(CommittedOrder, gives_each_place_its_lanes_next_microbatch) {
  CommittedOrder order;
  order.reset(4, 6);
  for (const LaneId lane : {4, 4, -1, 5, 4}) order.add(lane);
  for (const Task task : {Task{4, 0}, Task{4, 1}, Task{5, 0}, Task{4, 2}, Task{}}) {
    EXPECT_EQ(order.next(), task);
    order.started();
  }
}

TEST(CommittedOrders, keep_each_engines_places_apart) {
  static constexpr LaneFacts kLanes[] = {{0, 0, 0, 0, Engine::compute},
                                         {1, 0, 0, 0, Engine::copy_out}};
  ProgramFacts facts{};
  facts.lanes = kLanes;
  CommittedOrders orders;
  orders.reset(facts, 0, 2);
  for (const LaneId lane : {0, 1, -1, 0, 1}) orders.add(lane);
  EXPECT_FALSE(orders.has_left(1, 2));
  EXPECT_TRUE(orders.has_left(0, 3));
  orders.started(0);
  EXPECT_EQ(orders.next(Engine::compute), (Task{0, 1}));
  EXPECT_EQ(orders.next(Engine::copy_out), (Task{1, 0}));
  EXPECT_EQ(orders.next(Engine::copy_in), Task{});
}

TEST(CommittedOrder, binds_the_tasks_that_it_is_given) {
  CommittedOrder order;
  order.reset(4, 6);
  order.add(Task{5, 1});
  order.add(Task{5, 0});
  EXPECT_EQ(order.next(), (Task{5, 1}));
  order.started();
  EXPECT_EQ(order.next(), (Task{5, 0}));
}

TEST(FollowedTasks, leaves_out_the_first_that_have_started) {
  FollowedTasks order;
  order.reset(0, 2);
  for (const int m : {1, 0, 2}) order.add(Task{0, m});
  order.started(Task{0, 0});
  EXPECT_EQ(order.left().size(), 3U);
  order.started(Task{0, 1});
  ASSERT_EQ(order.left().size(), 1U);
  EXPECT_EQ(order.left().front(), (Task{0, 2}));
}

TEST(OrderStream, gives_its_items_but_those_of_lanes_without_one_left) {
  OrderStream stream;
  stream.add(0, 0, 2);
  stream.add(1, 7, -1);
  stream.add(1, 1, 3);
  stream.add(0, 0, 1);
  std::string taken;
  const auto then = [&](int op, std::int64_t chunk) {
    taken += std::to_string(op) + "." + std::to_string(chunk) + " ";
  };
  int ones = 1;  // left of op 1
  const auto left = [&](int op, std::int64_t /*chunk*/) { return op != 1 || ones-- > 0; };
  for (int i = 0; i < 6; ++i) stream.take(then, left);
  EXPECT_EQ(taken, "0.0 0.0 1.1 0.0 ");
}

TEST(FollowedOrder, knows_where_the_next_of_each_lane_stands) {
  FollowedOrder order;
  order.reset(4, 6);
  for (const LaneId lane : {4, 4, 5}) order.add(lane);
  EXPECT_EQ(order.next_place(4), 0);
  EXPECT_EQ(order.next_place(5), 2);
  order.started(4);
  order.started(5);
  EXPECT_EQ(order.next_place(4), 1);
  EXPECT_EQ(order.next_place(5), FollowedOrder::kNoPlace);
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
}  // namespace ripeline::core
