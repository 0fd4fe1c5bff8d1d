// Tests the explorer alone, on states that are numbers: new states, costs, and visited states.
#include "verify/states/explorer.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ripeline::verify {
namespace {

// A graph whose moves lead from n to n + 1 and to 2 * n, up to a largest number.
struct Numbers {
  using State = int;
  using Move = char;

  int largest = 0;
  int wanted = -1;
  char last_move = ' ';  // if set, the wanted state is found just before this move is made
  std::vector<int> visited{};
  std::vector<std::pair<std::size_t, std::size_t>> reaches{};

  [[nodiscard]] std::string key(int n) const { return std::to_string(n); }
  [[nodiscard]] Visit<char> visit(int n, std::size_t number) {
    EXPECT_EQ(number, visited.size());
    visited.push_back(n);
    if (n == wanted && last_move == ' ') return {.found = true};
    if (n == wanted) return {.found = true, .through = last_move};
    Visit<char> next;
    if (n + 1 <= largest) next.moves.push_back('+');
    if (2 * n <= largest) next.moves.push_back('*');
    return next;
  }
  [[nodiscard]] int after(int n, char move) const { return move == '+' ? n + 1 : 2 * n; }
  void reached(std::size_t from, std::size_t to) { reaches.emplace_back(from, to); }
};

std::string text_of(const std::optional<std::vector<char>>& way) {
  return way ? std::string(way->begin(), way->end()) : "none";
}

TEST(Explorer, breadth_first_finds_the_fewest_moves) {
  Numbers numbers{.largest = 20, .wanted = 10};
  Budget budget{100};
  const auto found = breadth_first(numbers, {1}, budget, {.visit = 1});
  EXPECT_EQ(text_of(found.way), "+*+*");
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(budget.left, 100 - numbers.visited.size());
}

TEST(Explorer, depth_first_follows_the_first_move_to_its_end) {
  Numbers numbers{.largest = 6, .wanted = 6, .last_move = '!'};
  Budget budget{100};
  const auto found = depth_first(numbers, {1}, budget, {.visit = 1});
  EXPECT_EQ(text_of(found.way), "+++++!");
  EXPECT_EQ(numbers.visited, (std::vector{1, 2, 3, 4, 5, 6}));
}

TEST(Explorer, each_state_is_visited_once_and_every_arrival_is_told) {
  for (const bool depth : {false, true}) {
    Numbers numbers{.largest = 4};
    Budget budget{100};
    const Limits limits{.visit = 10, .arrival = 1};
    const auto seen = depth ? depth_first(numbers, {1, 3}, budget, limits)
                            : breadth_first(numbers, {1, 3}, budget, limits);
    EXPECT_TRUE(seen.complete);
    EXPECT_FALSE(seen.way.has_value());
    EXPECT_EQ(seen.ways.size(), 4U);
    EXPECT_EQ(numbers.reaches.size(), 5U);      // 1 to 2 twice, 2 to 3 and 4, 3 to 4
    EXPECT_EQ(budget.left, 100U - 4 * 10 - 7);  // 7 arrivals: these 5, and two first states
  }
}

TEST(Explorer, a_way_starts_at_the_first_state_that_it_is_from) {
  Numbers numbers{.largest = 9};
  Budget budget = Budget::unlimited();
  const auto seen = breadth_first(numbers, {5, 7}, budget, {});
  EXPECT_EQ(numbers.visited, (std::vector{5, 7, 6, 8, 9}));
  EXPECT_EQ(seen.ways.states_to(4), (std::vector<std::size_t>{1, 3, 4}));
  EXPECT_EQ(seen.ways.moves_to(4), (std::vector{'+', '+'}));
}

TEST(Explorer, it_is_not_complete_if_the_budget_or_the_states_ran_out) {
  for (const bool depth : {false, true}) {
    const auto explore = [&](Budget budget, const Limits& limits) {
      Numbers numbers{.largest = 8};
      return depth ? depth_first(numbers, {1}, budget, limits).complete
                   : breadth_first(numbers, {1}, budget, limits).complete;
    };
    EXPECT_TRUE(explore({8}, {.visit = 1}));
    EXPECT_FALSE(explore({7}, {.visit = 1}));
    EXPECT_TRUE(explore({100}, {.visit = 1, .most_states = 8}));
    EXPECT_FALSE(explore({100}, {.visit = 1, .most_states = 7}));
    EXPECT_FALSE(explore({0, true}, {}));
  }
}

TEST(Explorer, a_share_pays_for_what_was_spent) {
  Budget budget{100};
  {
    BudgetShare share(budget, 30);
    EXPECT_TRUE(share.budget().spend(10));
    EXPECT_FALSE(share.budget().spend(21));  // if an amount is refused, it is spent nevertheless
  }
  EXPECT_EQ(budget.left, 70U);
  EXPECT_EQ(BudgetShare(budget, 200).budget().left, 70U);
  EXPECT_EQ(budget.left, 70U);
}

}  // namespace
}  // namespace ripeline::verify
