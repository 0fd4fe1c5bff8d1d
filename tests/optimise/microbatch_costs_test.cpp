// Tests costs that differ between microbatches: bounds and orders against every order of small
// programs, whatever the order of microbatches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "optimise/certified.h"
#include "optimise/search/search.h"
#include "tests/optimise/problems.h"

namespace ripeline::optimise::microbatch_costs_test {
namespace {

// Two ranks with one stage each, and a forward and a backward for each microbatch.
struct Small {
  std::vector<std::int64_t> forward, backward;  // per microbatch, on both ranks
  std::int64_t room = 1;                        // the microbatches for which a rank has room
  [[nodiscard]] int microbatches() const { return static_cast<int>(forward.size()); }
};

std::string cost_text(const std::vector<std::int64_t>& costs) {
  std::string text;
  for (std::size_t m = 0; m + 1 < costs.size(); ++m) {
    text += fmt::format("m == {} ? {} : ", m, costs[m]);
  }
  return text + std::to_string(costs.back());
}

std::string text_of(const Small& small) {
  return fmt::format(
      "pipeline p {{ microbatches {}; stages 2; place s on s; op F forward {{ cost {}; needs F at "
      "prev; acquires a; }} op B backward {{ cost {}; needs F at here, B at next; releases a; }} "
      "resource a per rank {{ capacity {}; }} dispatch ready; }}",
      small.microbatches(), cost_text(small.forward), cost_text(small.backward), small.room);
}

// All orders of a rank's tasks that fit its room; forwards are 0 .. M-1, backwards M .. 2M-1.
std::vector<std::vector<int>> orders_of(const Small& small) {
  const int count = small.microbatches();
  std::vector<int> order(static_cast<std::size_t>(2 * count));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders;
  do {
    std::vector<bool> ran(static_cast<std::size_t>(count), false);
    std::int64_t held = 0;
    const bool legal = std::all_of(order.begin(), order.end(), [&](int task) {
      if (task >= count) {
        --held;
        return static_cast<bool>(ran[static_cast<std::size_t>(task - count)]);
      }
      ran[static_cast<std::size_t>(task)] = true;
      return ++held <= small.room;
    });
    if (legal) orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

// The makespan; negative if both ranks wait for each other.
std::int64_t makespan_of(const Small& small, const std::vector<int>& first,
                         const std::vector<int>& last) {
  const int count = small.microbatches();
  std::vector<std::vector<std::int64_t>> end(2, std::vector<std::int64_t>(first.size(), -1));
  std::vector<std::size_t> next(2, 0);
  std::vector<std::int64_t> now(2, 0);
  for (bool goes = true; std::exchange(goes, false);) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const std::vector<int>& order = rank == 0 ? first : last;
      for (; next[rank] < order.size(); ++next[rank], goes = true) {
        const auto task = static_cast<std::size_t>(order[next[rank]]);
        const bool forward = order[next[rank]] < count;
        const bool fed = forward == (rank == 1);  // whether the task needs a task of the other rank
        const std::int64_t input = fed ? end[1 - rank][task] : 0;
        if (input < 0) break;
        const std::size_t m = forward ? task : task - static_cast<std::size_t>(count);
        now[rank] = end[rank][task] =
            std::max(now[rank], input) + (forward ? small.forward[m] : small.backward[m]);
      }
    }
  }
  if (next[0] < first.size() || next[1] < last.size()) return -1;
  return std::max(now[0], now[1]);
}

TEST(MicrobatchCostBounds, are_below_every_order) {
  std::mt19937_64 random(3);
  int reached = 0;
  for (int i = 0; i < 250; ++i) {
    Small small;
    const auto between = [&](int low, int high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    for (std::int64_t m = between(2, 3); m > 0; --m) {
      small.forward.push_back(between(1, 9));
      small.backward.push_back(between(1, 9));
    }
    small.room = between(1, 3);
    const std::vector<std::vector<int>> orders = orders_of(small);
    std::int64_t best = -1;
    for (const auto& first : orders) {
      for (const auto& last : orders) {
        const std::int64_t makespan = makespan_of(small, first, last);
        if (makespan >= 0 && (best < 0 || makespan < best)) best = makespan;
      }
    }
    SCOPED_TRACE(text_of(small));
    const Posed pose = posed(text_of(small), small.microbatches(), 0);
    EXPECT_LE(pose.problem->bound().value, best * kUnit);
    TimedOrder found;
    search(*pose.problem, 0, {.go_on = [asked = 0]() mutable { return ++asked < 30; }},
           [&](const TimedOrder& order, std::string_view) { found = order; });
    EXPECT_GE(found.makespan, best * kUnit);
    const auto made = certified({.problem = *pose.problem,
                                 .source = pose.source,
                                 .read_file = {},
                                 .bound = pose.problem->bound(),
                                 .order = found},
                                {});
    ASSERT_TRUE(made.ok()) << made.errors().front().message;
    EXPECT_EQ(made.value().run.makespan.count(), found.makespan);
    reached += found.makespan == pose.problem->bound().value ? 1 : 0;
  }
  EXPECT_GE(reached, 25);  // the bound equals the best order's makespan
}

}  // namespace
}  // namespace ripeline::optimise::microbatch_costs_test
