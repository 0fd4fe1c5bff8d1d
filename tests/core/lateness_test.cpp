// How long it pays to wait, given how late messages were.
#include "core/lateness.h"

#include <gtest/gtest.h>

#include <vector>

namespace ripeline::core::lateness_test {
namespace {

struct Row {
  std::vector<int> seen;  // eight of them at least: fewer say nothing
  int late;
  int next;
  int worth;  // with 500 beyond the latest seen
};

constexpr int kUnseen = 500;

const Row kRows[] = {
    // All were on time: worth it until then, if that is within reach; and beyond, as nothing is
    // known of it.
    {{0, 0, 0, 0, 0, 0, 0, 0}, -50, 100, kUnseen},
    {{0, 0, 0, 0, 0, 0, 0, 0}, -150, 100, -150},
    {{0, 0, 0, 0, 0, 0, 0, 0}, 1, 100, kUnseen},
    {{0, 0, 0, 0, 0, 0, 0, 0}, 600, 100, 600},
    // One in eight is 1000 late: once it is not on time, it is that one.
    {{0, 0, 0, 0, 0, 0, 0, 1000}, -50, 100, 0},
    {{0, 0, 0, 0, 0, 0, 0, 1000}, 0, 100, 0},
    {{0, 0, 0, 0, 0, 0, 0, 1000}, 800, 100, 800},
    // Within reach again, and past it: 500 is no later than what was seen.
    {{0, 0, 0, 0, 0, 0, 0, 1000}, 950, 100, 1000},
    // Half of those that are later suffice.
    {{0, 0, 0, 0, 60, 60, 400, 400}, 0, 100, 60},
    {{0, 0, 0, 0, 60, 400, 400, 400}, 0, 100, 0},
};

TEST(Lateness, it_pays_to_wait_while_half_of_those_so_late_come_in_time) {
  for (const Row& row : kRows) {
    Lateness lateness;
    for (const int late : row.seen) {
      EXPECT_FALSE(lateness.known());
      lateness.add(Time{late});
    }
    EXPECT_TRUE(lateness.known());
    EXPECT_EQ(lateness.worth(Time{row.late}, Time{row.next}, Time{kUnseen}), Time{row.worth})
        << "late " << row.late << " of " << row.seen.size();
  }
}

TEST(Lateness, forgets_what_is_long_past) {
  Lateness lateness;
  for (int i = 0; i < 200; ++i) lateness.add(Time{1000});
  for (int i = 0; i < 200; ++i) lateness.add(Time{i % 2});
  EXPECT_EQ(lateness.worth(Time{-50}, Time{60}, Time{0}), Time{1});
  EXPECT_EQ(lateness.worth(Time{1}, Time{60}, Time{0}), Time{1});
}

}  // namespace
}  // namespace ripeline::core::lateness_test
