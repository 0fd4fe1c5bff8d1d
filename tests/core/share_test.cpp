#include "core/vocabulary/share.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace ripeline::core {
namespace {

// The microbatches of the share below `end`, found by a loop over all microbatches.
std::vector<int> listed(const Share& share, int end) {
  std::vector<int> found;
  for (int m = 0; m < end; ++m) {
    const int at = m % share.period;
    const std::uint64_t bits = share.is_long() ? share.words[at / 64].bits : share.remainders;
    if ((bits >> at % 64 & 1U) != 0) found.push_back(m);
  }
  return found;
}

// Expects that the share's arithmetic agrees with the list.
void expect_lists(const Share& share, const std::vector<int>& all, int end) {
  for (int m = 0, k = 0; m < end; ++m) {
    EXPECT_EQ(share.below(m), k) << m;
    const bool has =
        static_cast<std::size_t>(k) < all.size() && all[static_cast<std::size_t>(k)] == m;
    EXPECT_EQ(share.has(m), has) << m;
    if (!has) continue;
    EXPECT_EQ(share.microbatch(k), m) << k;
    ++k;
  }
}

TEST(Share, counts_what_it_lists) {
  std::mt19937_64 random(1);
  for (int period = 1; period <= Share::kLongestPeriod; ++period) {
    const std::uint64_t whole = period == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << period) - 1;
    for (const std::uint64_t some : {random() & whole, std::uint64_t{1} << (period - 1), whole}) {
      SCOPED_TRACE(std::to_string(period) + ": " + std::to_string(some));
      if (some == 0) continue;
      const int end = 3 * period + 2;
      const Share share{period, some};
      expect_lists(share, listed(share, end), end);
    }
  }
}

TEST(Share, of_a_long_period_counts_what_it_lists) {
  std::mt19937_64 random(2);
  for (const int period : {65, 127, 128, 129, 200, 1000}) {
    for (const int odds : {1, 2, 50}) {
      SCOPED_TRACE(std::to_string(period) + ": one in " + std::to_string(odds));
      std::vector<bool> has(static_cast<std::size_t>(period));
      for (auto&& one : has) one = random() % static_cast<std::uint64_t>(odds) == 0;
      has.back() = true;
      const auto words =
          long_words(period, [&](int m) { return has[static_cast<std::size_t>(m)]; });
      const Share share = Share::of_words(period, words.data());
      const int end = 2 * period + 3;
      expect_lists(share, listed(share, end), end);
      EXPECT_EQ(share.size(), share.below(period));
      // Shares with equal bits are equal, even if the bits are stored elsewhere.
      const auto again = words;
      EXPECT_EQ(share, Share::of_words(period, again.data()));
      auto other = words;
      other.front().bits ^= 1U;
      EXPECT_NE(share, Share::of_words(period, other.data()));
      EXPECT_NE(share, (Share{period, 0}));
    }
  }
}

TEST(Share, without_any_counts_none) {
  const Share none{6, 0};
  EXPECT_EQ(none.below(100), 0);
  EXPECT_FALSE(none.has(5));
}

}  // namespace
}  // namespace ripeline::core
