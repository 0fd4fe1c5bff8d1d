// Tests how long it is worthwhile to wait, given how late earlier messages were.
#include "core/lateness.h"

#include <gtest/gtest.h>

#include <vector>

namespace ripeline::core::lateness_test {
namespace {

struct Row {
  std::vector<int> seen;  // at least eight lateness values; fewer tell nothing
  int late;
  int next;
  int worth;  // the expected result with kUnseen
};

constexpr int kUnseen = 500;

const Row kRows[] = {
    // All were on time. If the expected time is within reach, it is worthwhile to wait until then,
    // and also beyond, because no later message has been seen.
    {{0, 0, 0, 0, 0, 0, 0, 0}, -50, 100, kUnseen},
    {{0, 0, 0, 0, 0, 0, 0, 0}, -150, 100, -150},
    {{0, 0, 0, 0, 0, 0, 0, 0}, 1, 100, kUnseen},
    {{0, 0, 0, 0, 0, 0, 0, 0}, 600, 100, 600},
    // One in eight was 1000 late, so a message that is not on time must be one of these.
    {{0, 0, 0, 0, 0, 0, 0, 1000}, -50, 100, 0},
    {{0, 0, 0, 0, 0, 0, 0, 1000}, 0, 100, 0},
    {{0, 0, 0, 0, 0, 0, 0, 1000}, 800, 100, 800},
    // 1000 is within reach again. No wait beyond it is worthwhile, since kUnseen is less than 1000.
    {{0, 0, 0, 0, 0, 0, 0, 1000}, 950, 100, 1000},
    // It is worthwhile to wait if half of the messages still missing arrive during the wait.
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
