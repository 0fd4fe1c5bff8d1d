// Tests orders with the fewest moves: compares them with all possible moves in small tables.
#include "pytorch/fewest_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pytorch/check.h"
#include "pytorch/fix.h"

namespace ripeline::pytorch {
namespace {

bool all_fit(const RowPeak&) { return true; }

// Whether PyTorch can load the table, as computed by as_loaded().
bool loads(const ActionTable& table, const StageMap& map) {
  return as_loaded(table, map, 1, {.shards = false, .reduce = false}).stuck.empty();
}

std::int64_t held(const std::vector<ActionCell>& row) {
  std::vector<const ActionCell*> cells;
  for (const ActionCell& cell : row) cells.push_back(&cell);
  return peak_of(cells).all;
}

std::int64_t more_held(const ActionTable& before, const ActionTable& now) {
  std::int64_t more = 0;
  for (std::size_t r = 0; r < before.rows.size(); ++r) {
    more += std::max<std::int64_t>(0, held(now.rows[r]) - held(before.rows[r]));
  }
  return more;
}

std::int64_t most_held(const ActionTable& table) {
  std::int64_t most = 0;
  for (const auto& row : table.rows) most = std::max(most, held(row));
  return most;
}

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// The least additional amount that ranks hold, over all tables that can be loaded after at most
// `moves` moves and hold no more than the limit; -1 if there is no such table.
std::int64_t least_more(const ActionTable& original, const ActionTable& table, const StageMap& map,
                        int moves, std::int64_t limit = kNoLimit) {
  if (moves == 0) {
    return loads(table, map) && most_held(table) <= limit ? more_held(original, table) : -1;
  }
  std::int64_t least = -1;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (std::size_t from = 0; from < table.rows[r].size(); ++from) {
      for (std::size_t to = 0; to < table.rows[r].size(); ++to) {
        if (from == to) continue;
        ActionTable moved = table;
        auto& row = moved.rows[r];
        const ActionCell cell = row[from];
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(from));
        row.insert(row.begin() + static_cast<std::ptrdiff_t>(to), cell);
        const std::int64_t more = least_more(original, moved, map, moves - 1, limit);
        if (more >= 0 && (least < 0 || more < least)) least = more;
      }
    }
  }
  return least;
}

// Draws tables in which some cells of a right order were exchanged.
class PlantedSwaps {
 public:
  ActionTable draw(StageMap& map) {
    const int ranks = below(3) == 0 ? 3 : 2;
    const bool chain = below(3) != 0;
    map = *place_stages(chain ? Placement::chain : Placement::v, ranks, chain ? ranks : 2 * ranks);
    ActionTable table = right(map, chain ? 2 + below(2) : 1, below(3) == 0);
    for (int swaps = 1 + below(2); swaps > 0; --swaps) {
      auto& row = table.rows[static_cast<std::size_t>(below(ranks))];
      std::swap(row[static_cast<std::size_t>(below(static_cast<int>(row.size())))],
                row[static_cast<std::size_t>(below(static_cast<int>(row.size())))]);
    }
    return table;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  // Draws an order by always taking some ready action.
  ActionTable right(const StageMap& map, int microbatches, bool split) {
    std::vector<Action> left;
    for (int s = 0; s < map.stages(); ++s) {
      for (int m = 0; m < microbatches; ++m) {
        left.push_back({ActionKind::forward, s, m});
        left.push_back({split ? ActionKind::backward_input : ActionKind::backward, s, m});
        if (split) left.push_back({ActionKind::backward_weight, s, m});
      }
    }
    ActionTable table;
    table.rows.resize(static_cast<std::size_t>(map.ranks));
    std::vector<Action> done;
    while (!left.empty()) {
      const auto i = static_cast<std::ptrdiff_t>(below(static_cast<int>(left.size())));
      const Action action = left[static_cast<std::size_t>(i)];
      const auto needs = needs_of(action, map.stages());
      if (!std::all_of(needs.begin(), needs.end(), [&done](const Action& need) {
            return std::find(done.begin(), done.end(), need) != done.end();
          })) {
        continue;
      }
      table.rows[static_cast<std::size_t>(map.rank(action.stage))].push_back({.actions = {action}});
      done.push_back(result_of(action));
      left.erase(left.begin() + i);
    }
    return table;
  }

  std::mt19937 random_{36};
};

TEST(FewestMoves, are_as_few_as_any_and_hold_no_more_where_that_can_be) {
  PlantedSwaps planted;
  int stuck = 0;
  int two = 0;
  int with_more = 0;
  for (int i = 0; i < 1500; ++i) {
    StageMap map;
    const ActionTable table = planted.draw(map);
    const MovedOrder order = with_fewest_moves(table, map, all_fit);
    ASSERT_TRUE(order.stuck.empty());
    ASSERT_TRUE(loads(order.table, map)) << write_actions(table);
    EXPECT_TRUE(order.fewest);
    if (loads(table, map)) {
      EXPECT_TRUE(order.moves.empty());
      EXPECT_EQ(order.table, table);
      continue;
    }
    ++stuck;
    const std::size_t moves = order.moves.size();
    std::int64_t least = least_more(table, table, map, 1);
    EXPECT_EQ(moves == 1, least >= 0) << write_actions(table);
    std::size_t cells = 0;
    for (const auto& row : table.rows) cells += row.size();
    if (moves > 1 && cells > 8) continue;  // there are too many tables to try
    if (moves > 1) {
      least = least_more(table, table, map, 2);
      EXPECT_EQ(moves == 2, least >= 0) << write_actions(table);
      ++two;
    }
    if (least < 0) continue;
    EXPECT_EQ(more_held(table, order.table), least)
        << write_actions(table) << write_actions(order.table);
    if (least > 0) ++with_more;
  }
  EXPECT_GT(stuck, 500);
  EXPECT_GT(two, 40);
  EXPECT_GT(with_more, 10);
}

TEST(FewestMoves, within_a_limit_are_as_few_as_any_that_keep_to_it) {
  PlantedSwaps planted;
  int one_does_not = 0;
  for (int i = 0; i < 1500; ++i) {
    StageMap map;
    const ActionTable table = planted.draw(map);
    const std::int64_t limit = most_held(table);
    const MovedOrder order =
        with_fewest_moves(table, map, [limit](const RowPeak& peak) { return peak.all <= limit; });
    if (order.moves.empty()) continue;
    const bool keeps = most_held(order.table) <= limit;
    const bool one_does = least_more(table, table, map, 1, limit) >= 0;
    EXPECT_EQ(keeps && order.moves.size() == 1, one_does) << write_actions(table);
    // One move would suffice without the limit, but not with it.
    if (one_does || !keeps || least_more(table, table, map, 1) < 0) continue;
    ++one_does_not;
    EXPECT_EQ(order.fewest, order.moves.size() == 2) << write_actions(table);
  }
  EXPECT_GT(one_does_not, 0);
}

// Only the moved cells change their positions relative to other cells.
TEST(FewestMoves, leave_the_other_cells_in_their_order) {
  PlantedSwaps planted;
  for (int i = 0; i < 300; ++i) {
    StageMap map;
    ActionTable before = planted.draw(map);
    MovedOrder order = with_fewest_moves(before, map, all_fit);
    for (const Move& move : order.moves) {
      const auto r = static_cast<std::size_t>(move.row) - 1;
      EXPECT_EQ(before.rows[r][static_cast<std::size_t>(move.from) - 1], move.cell);
      EXPECT_EQ(order.table.rows[r][static_cast<std::size_t>(move.to) - 1], move.cell);
    }
    for (const Move& move : order.moves) {
      std::erase(before.rows[static_cast<std::size_t>(move.row) - 1], move.cell);
      std::erase(order.table.rows[static_cast<std::size_t>(move.row) - 1], move.cell);
    }
    EXPECT_EQ(before, order.table);
  }
}

TEST(FewestMoves, of_several_that_are_as_few_are_those_that_hold_no_more) {
  // Either B0 of rank 1 or F1 of rank 0 could move; if F1 moved, rank 0 would hold two activations.
  const ActionTable table = read_actions("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n").table;
  const StageMap map = *place_stages(Placement::chain, 2, 2);
  const MovedOrder order = with_fewest_moves(table, map, all_fit);
  ASSERT_EQ(order.moves.size(), 1U);
  EXPECT_EQ(write_actions(order.table), "0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n");
}

// The schedule has 8 ranks, 64 microbatches, and one cell that is late.
TEST(FewestMoves, are_found_in_a_large_table) {
  std::string text;
  for (int r = 0; r < 8; ++r) {
    std::vector<std::string> row;
    for (int m = 0; m < 7 - r; ++m) row.push_back(fmt::format("{}F{}", r, m));
    for (int m = 7 - r; m < 64; ++m) {
      row.push_back(fmt::format("{}F{}", r, m));
      row.push_back(fmt::format("{}B{}", r, m - 7 + r));
    }
    for (int m = 57 + r; m < 64; ++m) row.push_back(fmt::format("{}B{}", r, m));
    text += fmt::format("{}\n", fmt::join(row, ","));
  }
  ActionTable table = read_actions(text).table;
  auto& row = table.rows[3];
  std::rotate(row.begin() + 20, row.begin() + 21, row.begin() + 60);  // 3B8 now follows many others
  const MovedOrder order = with_fewest_moves(table, *place_stages(Placement::chain, 8, 8), all_fit);
  ASSERT_EQ(order.moves.size(), 1U);
  EXPECT_TRUE(order.fewest);
  EXPECT_EQ(order.moves[0].from, 60);
  EXPECT_EQ(more_held(table, order.table), 0);
}

}  // namespace
}  // namespace ripeline::pytorch
