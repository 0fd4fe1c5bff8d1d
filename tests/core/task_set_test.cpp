#include "core/task_set.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace ripeline::core {
namespace {

int lowest_of(const std::set<int>& members) { return members.empty() ? -1 : *members.begin(); }

int lowest_common_of(const std::set<int>& a, const std::set<int>& b) {
  const auto found = std::find_if(a.begin(), a.end(), [&](int m) { return b.contains(m); });
  return found == a.end() ? -1 : *found;
}

TEST(MicrobatchSet, does_as_a_set_of_integers_does) {
  constexpr std::uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  for (const int size : {1, 63, 64, 65, 4096, 4097, 9000}) {
    MicrobatchSet sets[2];
    std::set<int> expected[2];
    for (MicrobatchSet& set : sets) set.reset(size);
    for (int i = 0; i < 3000; ++i) {
      const std::size_t which = random() % 2;
      const int member = static_cast<int>(random() % static_cast<std::uint64_t>(size));
      if (random() % 3 == 0) {
        sets[which].add(member);
        expected[which].insert(member);
      } else {
        sets[which].remove(member);
        expected[which].erase(member);
      }
      ASSERT_EQ(sets[which].contains(member), expected[which].contains(member)) << "seed " << kSeed;
      ASSERT_EQ(sets[which].lowest(), lowest_of(expected[which])) << "seed " << kSeed;
      ASSERT_EQ(sets[which].empty(), expected[which].empty());
      ASSERT_EQ(sets[0].lowest_common(sets[1]), lowest_common_of(expected[0], expected[1]));
    }
    sets[0].clear();
    EXPECT_TRUE(sets[0].empty());
  }
}

TEST(TaskSet, has_a_row_for_each_lane_of_the_rank) {
  TaskSet set;
  set.reset(4, 2, 100);
  EXPECT_TRUE(set.empty());
  set.add({5, 70});
  set.add({4, 3});
  EXPECT_TRUE(set.contains({5, 70}));
  EXPECT_FALSE(set.contains({4, 70}));
  EXPECT_EQ(set.row(5).lowest(), 70);
  TaskSet same;
  same.reset(4, 2, 100);
  same.add({4, 3});
  EXPECT_FALSE(set == same);
  set.remove({5, 70});
  EXPECT_TRUE(set == same);
  set.clear();
  EXPECT_TRUE(set.empty());
}

}  // namespace
}  // namespace ripeline::core
