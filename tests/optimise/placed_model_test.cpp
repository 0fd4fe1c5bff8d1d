// Tests layers as stages of a program: how they are cut into stages, and the program's text.
#include "optimise/placed_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "spec/elaborate.h"
#include "tests/optimise/problems.h"

namespace ripeline::optimise {
namespace {

std::vector<PlacedModel::Costs> layers_of(const std::vector<std::int64_t>& costs) {
  std::vector<PlacedModel::Costs> layers;
  for (const std::int64_t cost : costs) {
    // Costs are in quarters, so that some sums are not integers.
    layers.push_back({.forward = {cost, 4}, .input = {1, 2}, .weight = {1, 4}});
  }
  return layers;
}

using Value = std::pair<std::int64_t, std::int64_t>;  // the largest sum, then the sum of squares

Value value_of(const std::vector<std::int64_t>& costs, std::vector<int> first) {
  first.push_back(static_cast<int>(costs.size()));
  Value value;
  for (std::size_t s = 1; s < first.size(); ++s) {
    EXPECT_LT(first[s - 1], first[s]);
    const std::int64_t stage =
        std::accumulate(costs.begin() + first[s - 1], costs.begin() + first[s], std::int64_t{0},
                        [](std::int64_t sum, std::int64_t cost) { return sum + cost + 3; });
    value = {std::max(value.first, stage), value.second + stage * stage};
  }
  return value;
}

// The best value of any cut.
Value best_value(const std::vector<std::int64_t>& costs, int stages) {
  Value best{std::numeric_limits<std::int64_t>::max(), 0};
  std::vector<int> first = {0};
  const std::function<void()> go_on = [&] {
    if (static_cast<int>(first.size()) == stages) {
      best = std::min(best, value_of(costs, first));
      return;
    }
    for (int next = first.back() + 1; next < static_cast<int>(costs.size()); ++next) {
      first.push_back(next);
      go_on();
      first.pop_back();
    }
  };
  go_on();
  return best;
}

TEST(PlacedModel, cuts_layers_into_the_most_even_stages) {
  for (std::uint64_t seed = 1; seed <= setting("RIPELINE_CASES", 300); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<std::int64_t> costs(1 + random() % 9);
    for (std::int64_t& cost : costs) cost = static_cast<std::int64_t>(random() % 12);
    const int stages = static_cast<int>(1 + random() % costs.size());
    const std::vector<int> first = cut(layers_of(costs), stages);
    ASSERT_EQ(first.size(), static_cast<std::size_t>(stages));
    EXPECT_EQ(first.front(), 0);
    EXPECT_EQ(value_of(costs, first), best_value(costs, stages));
    // If several cuts are equally good, the same one is chosen in every unit.
    std::vector<PlacedModel::Costs> layers;
    for (const std::int64_t cost : costs) {
      layers.push_back({.forward = {333'333'333 * (cost + 3), 1'000}, .input = {}, .weight = {}});
      layers.back().input = layers.back().weight = {0, 1};
    }
    EXPECT_EQ(cut(layers, stages), first);
  }
}

TEST(PlacedModel, has_equal_stages_where_layers_are_alike) {
  PlacedModel model;
  model.placement = pytorch::Placement::v;
  model.chunks = 2;
  model.ranks = 3;
  model.memory = {5, 2};
  model.layers = even_layers({.forward = {3, 1}, .input = {2, 1}, .weight = {1, 1}}, 3, 2);
  model.first_layers = cut(model.layers, 6);
  const std::string even = program_text(model);
  EXPECT_NE(even.find("cost 1.5; needs F at prev; acquires activation;"), std::string::npos);
  EXPECT_NE(even.find("capacity 5;"), std::string::npos) << even;
  EXPECT_EQ(parts_of(model), 2);
  // Each layer is replaced by four layers.
  model.layers.assign(24, {.forward = {3, 8}, .input = {1, 4}, .weight = {1, 8}});
  model.first_layers = cut(model.layers, 6);
  EXPECT_EQ(program_text(model), even);
  EXPECT_EQ(parts_of(model), 2);
}

// A stage of three layers holds three times as much as a stage of one.
TEST(PlacedModel, counts_what_a_stage_holds_by_its_layers) {
  PlacedModel model;
  model.ranks = 2;
  model.memory = {2, 1};  // in microbatches; a rank has two layers on average
  model.layers = layers_of({1, 1, 1, 9});
  model.first_layers = cut(model.layers, 2);
  EXPECT_EQ(model.first_layers, (std::vector{0, 3}));
  EXPECT_EQ(parts_of(model), 2);
  const std::string text = program_text(model);
  EXPECT_NE(text.find("op F forward { cost s < 1 ? 0.75 : 2.25;"), std::string::npos) << text;
  EXPECT_NE(text.find("acquires activation s < 1 ? 3 : 1;"), std::string::npos) << text;
  EXPECT_NE(text.find("capacity 4;"), std::string::npos) << text;
  EXPECT_TRUE(has_room(model));
  EXPECT_TRUE(spec::compile({kPlacedModel, text}).ok());
  model.memory = {1, 1};
  EXPECT_FALSE(has_room(model));
  EXPECT_TRUE(spec::compile({kPlacedModel, program_text(model)}).ok());
}

TEST(PlacedModel, counts_bytes_by_layers_too) {
  PlacedModel model;
  model.ranks = 2;
  model.bytes = {.activation = 100, .after_input = 43};
  model.memory = {300, 1};
  model.layers = layers_of({1, 1, 1, 9});
  model.first_layers = cut(model.layers, 2);
  const std::string text = program_text(model);
  EXPECT_NE(text.find("acquires activation s < 1 ? 300 : 100;"), std::string::npos) << text;
  EXPECT_NE(text.find("releases activation s < 1 ? 171 : 57;"), std::string::npos) << text;
  EXPECT_NE(text.find("releases activation s < 1 ? 129 : 43;"), std::string::npos) << text;
  EXPECT_NE(text.find("capacity 600;"), std::string::npos) << text;
}

// 2 GB and 0.5 GB for two layers are 1000 MB and 250 MB for one layer; MB is the largest unit in
// which both are integers.
TEST(PlacedModel, has_bytes_in_the_largest_unit_in_which_they_are_whole) {
  PlacedModel model;
  model.ranks = 2;
  model.bytes = {.activation = 2'000'000'000, .after_input = 500'000'000, .unit = "GB"};
  model.memory = {6'000'000'000, 1};
  model.layers = layers_of({1, 1, 1, 9});
  model.first_layers = cut(model.layers, 2);
  const std::string text = program_text(model);
  EXPECT_NE(text.find("acquires activation s < 1 ? 3000 : 1000;"), std::string::npos) << text;
  EXPECT_NE(text.find("releases activation s < 1 ? 750 : 250;"), std::string::npos) << text;
  EXPECT_NE(text.find("capacity 6000; unit \"MB\";"), std::string::npos) << text;
  EXPECT_EQ(parts_of(model), 1);
}

// A third of 1 GB is not a whole number of bytes; yet three thirds must fit into 1 GB.
TEST(PlacedModel, excludes_nothing_that_fits_but_for_a_part_of_a_byte) {
  PlacedModel model;
  model.placement = pytorch::Placement::loop;
  model.chunks = 3;
  model.ranks = 2;
  model.bytes = {.activation = 1'000'000'000, .after_input = 1'000'000'000, .unit = "GB"};
  model.memory = {1'000'000'000, 1};
  model.layers = layers_of({1, 1, 1, 1, 1, 1});
  model.first_layers = cut(model.layers, 6);
  const std::string text = program_text(model);
  EXPECT_NE(text.find("acquires activation 333333333;"), std::string::npos) << text;
  EXPECT_NE(text.find("capacity 1000000000; unit \"B\";"), std::string::npos) << text;
}

TEST(PlacedModel, is_a_program_with_as_many_stages_as_there_may_be) {
  PlacedModel model;
  model.placement = pytorch::Placement::loop;
  model.chunks = 4;
  model.ranks = 128;
  std::vector<std::int64_t> costs;
  for (int layer = 0; layer < 700; ++layer) costs.push_back(1 + layer * layer % 97);
  model.layers = layers_of(costs);
  model.first_layers = cut(model.layers, model.stages());
  const auto program = spec::compile({kPlacedModel, program_text(model)});
  ASSERT_TRUE(program.ok()) << program.errors().front().message;
  for (std::size_t s = 0; s < model.first_layers.size(); ++s) {
    const auto first = static_cast<std::size_t>(model.first_layers[s]);
    const std::size_t end = s + 1 < model.first_layers.size()
                                ? static_cast<std::size_t>(model.first_layers[s + 1])
                                : costs.size();
    std::int64_t quarters = 0;
    for (std::size_t layer = first; layer < end; ++layer) quarters += costs[layer];
    for (const spec::Lane& lane : program.value().lanes) {
      if (lane.stage != static_cast<int>(s) || lane.op != 0) continue;
      EXPECT_EQ(lane.cost.each.value() * 4, static_cast<double>(quarters)) << s;
      EXPECT_EQ(lane.rank, static_cast<int>(s % 128));
    }
  }
}

}  // namespace
}  // namespace ripeline::optimise
