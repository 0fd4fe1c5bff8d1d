#include "runtime/network/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace ripeline::runtime::network {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Readiness, of_one_rank_is_its_own) {
  Readiness readiness(0, 1);
  EXPECT_FALSE(readiness.all());
  readiness.connected();
  EXPECT_TRUE(readiness.all());
  EXPECT_THAT(readiness.take_to_notify(), IsEmpty());
}

TEST(Readiness, goes_up_and_comes_down) {
  Readiness middle(1, 5);
  middle.connected();
  EXPECT_THAT(middle.late(), ElementsAre(3, 4));
  middle.received_from(3);
  EXPECT_THAT(middle.take_to_notify(), IsEmpty());
  middle.received_from(2);  // is not a neighbour
  middle.received_from(4);
  EXPECT_FALSE(middle.may_be_all());
  EXPECT_THAT(middle.take_to_notify(), ElementsAre(0));
  EXPECT_TRUE(middle.may_be_all());
  EXPECT_THAT(middle.late(), ElementsAre(0));
  EXPECT_FALSE(middle.all());
  middle.received_from(0);
  EXPECT_TRUE(middle.all());
  EXPECT_THAT(middle.take_to_notify(), ElementsAre(3, 4));
  EXPECT_THAT(middle.take_to_notify(), IsEmpty());
}

TEST(Readiness, is_nobodys_before_all_are_connected) {
  std::mt19937 random(5);
  for (int ranks = 1; ranks < 20; ++ranks) {
    std::vector<Readiness> all;
    std::vector<int> unconnected;
    for (int rank = 0; rank < ranks; ++rank) {
      all.emplace_back(rank, ranks);
      unconnected.push_back(rank);
    }
    std::shuffle(unconnected.begin(), unconnected.end(), random);
    std::vector<std::pair<int, int>> messages;  // from, to
    while (!unconnected.empty() || !messages.empty()) {
      int rank = 0;
      if (!unconnected.empty() && (messages.empty() || random() % 2 == 0)) {
        rank = unconnected.back();
        unconnected.pop_back();
        all[static_cast<std::size_t>(rank)].connected();
      } else {
        std::swap(messages[random() % messages.size()], messages.back());
        const auto [from, to] = messages.back();
        messages.pop_back();
        rank = to;
        all[static_cast<std::size_t>(to)].received_from(from);
      }
      Readiness& changed = all[static_cast<std::size_t>(rank)];
      for (const int to : changed.take_to_notify()) messages.emplace_back(rank, to);
      ASSERT_TRUE(!changed.all() || unconnected.empty());
    }
    for (const Readiness& rank : all) EXPECT_TRUE(rank.all()) << ranks;
  }
}

}  // namespace
}  // namespace ripeline::runtime::network
