// Ranks' lines that come out as one, and when.
#include "runtime/launch/lines.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace ripeline::runtime {
namespace {

using namespace std::chrono_literals;

const Lines::Time kStart{1h};

TEST(LaunchLines, what_ranks_say_at_once_comes_out_once_with_all_of_them) {
  Lines lines;
  for (const int rank : {5, 0, 2, 1}) lines.add(rank, "no such schedule", true, kStart);
  lines.add(3, "another", true, kStart);
  EXPECT_EQ(lines.take(kStart + 199ms), "");
  EXPECT_EQ(lines.due(), kStart + 200ms);
  EXPECT_EQ(lines.take(kStart + 200ms),
            "[ranks 0..2, 5] no such schedule\n"
            "[rank 3] another\n");
  EXPECT_TRUE(lines.empty());
  EXPECT_EQ(lines.bytes(), 0U);
}

TEST(LaunchLines, one_more_rank_makes_it_wait_again_for_a_second_at_most) {
  Lines lines;
  for (int rank = 0; rank < 10; ++rank) lines.add(rank, "late", true, kStart + rank * 150ms);
  EXPECT_EQ(lines.due(), kStart + 1s);
  EXPECT_EQ(lines.take(kStart + 1s), "[ranks 0..9] late\n");
  lines.add(10, "late", true, kStart + 1500ms);
  EXPECT_EQ(lines.take(kStart + 1700ms), "[rank 10] late\n");
}

TEST(LaunchLines, the_lines_of_a_rank_stay_in_their_order_and_number) {
  Lines lines;
  lines.add(0, "b", true, kStart);
  lines.add(1, "a", true, kStart);
  lines.add(1, "b", true, kStart);  // not before its own a
  lines.add(0, "b", true, kStart);  // said twice
  lines.add(2, "b", true, kStart);
  EXPECT_EQ(lines.take(kStart, true),
            "[rank 0] b\n"
            "[rank 1] a\n"
            "[ranks 0..2] b\n");
}

TEST(LaunchLines, what_does_not_wait_comes_at_once_unless_one_before_it_waits) {
  Lines lines;
  lines.add(0, "out", false, kStart);
  lines.add(1, "out", false, kStart);
  EXPECT_EQ(lines.take(kStart), "[rank 0] out\n[rank 1] out\n");
  lines.add(0, "error", true, kStart);
  lines.add(1, "out", false, kStart);
  lines.add("of the launcher");
  EXPECT_EQ(lines.take(kStart), "");
  EXPECT_EQ(lines.take(kStart + 200ms), "[rank 0] error\n[rank 1] out\nof the launcher\n");
}

TEST(LaunchLines, nothing_waits_where_much_does) {
  Lines lines;
  const std::string large(20'000, 'x');
  lines.add(0, large, true, kStart);
  EXPECT_EQ(lines.take(kStart), "[rank 0] " + large + '\n');
  for (int i = 0; i < 1000; ++i) lines.add(0, std::to_string(i), true, kStart);
  EXPECT_NE(lines.take(kStart), "");
  EXPECT_TRUE(lines.empty());
}

}  // namespace
}  // namespace ripeline::runtime
