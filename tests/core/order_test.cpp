#include "core/order.h"

#include <gtest/gtest.h>

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
