// Tests cuts of layers against all cuts, and against the least makespan of each cut over all
// orders.
#include "optimise/cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "optimise/forms.h"
#include "optimise/placed_model.h"
#include "optimise/rank_bounds.h"
#include "tests/optimise/every_order.h"
#include "tests/optimise/problems.h"

namespace ripeline::optimise {
namespace {

using Cut = std::vector<int>;
using Placement = pytorch::Placement;

std::vector<Cut> all_cuts(int layers, int stages) {
  std::vector<Cut> all;
  Cut first = {0};
  const std::function<void()> go_on = [&] {
    if (static_cast<int>(first.size()) == stages) {
      all.push_back(first);
      return;
    }
    for (int next = first.back() + 1; next < layers; ++next) {
      first.push_back(next);
      go_on();
      first.pop_back();
    }
  };
  go_on();
  return all;
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::mt19937_64 random_;
};

struct Shape {
  Placement placement;
  int ranks;
  int chunks;
  int layers;
};

PlacedModel drawn_model(Draw& draw, const Shape& shape, int microbatches) {
  PlacedModel model;
  model.placement = shape.placement;
  model.ranks = shape.ranks;
  model.chunks = shape.chunks;
  model.microbatches = microbatches;
  model.whole_backward = draw.between(0, 3) == 0;
  for (int layer = 0; layer < shape.layers; ++layer) {
    model.layers.push_back({.forward = {draw.between(0, 4), 1},
                            .input = {draw.between(1, 4), 1},
                            .weight = {model.whole_backward ? 0 : draw.between(0, 3), 1}});
  }
  const int most = draw.between(1, 4);
  PlacedModel::Bytes bytes{.activation = most, .after_input = draw.between(1, most)};
  if (model.whole_backward) bytes.after_input = bytes.activation;
  if (draw.between(0, 1) == 0) model.bytes = bytes;
  const int each = model.bytes ? most : 1;
  model.memory = {draw.between(2 * each, 2 * (shape.ranks + 2) * each), 2};
  return model;
}

// The least makespan of a cut over every order; nullopt if no order has room.
std::optional<std::int64_t> least_makespan(const PlacedModel& model, const Cut& first,
                                           int latency) {
  testing_support::TinyProblem tiny{.v = model.placement == Placement::v,
                                    .ranks = model.ranks,
                                    .microbatches = model.microbatches,
                                    .latency = latency,
                                    .chunks = model.chunks};
  if (model.bytes) tiny.activation = model.bytes->activation;
  if (model.bytes) tiny.after_input = model.bytes->after_input;
  std::int64_t group = 0;
  for (std::size_t s = 0; s < first.size(); ++s) {
    const std::size_t begin = static_cast<std::size_t>(first[s]);
    const std::size_t end =
        s + 1 < first.size() ? static_cast<std::size_t>(first[s + 1]) : model.layers.size();
    for (const auto cost :
         {&PlacedModel::Costs::forward, &PlacedModel::Costs::input, &PlacedModel::Costs::weight}) {
      std::int64_t sum = 0;
      for (std::size_t i = begin; i < end; ++i) sum += (model.layers[i].*cost).numerator;
      tiny.takes.push_back(sum);
    }
    tiny.amounts.push_back(static_cast<std::int64_t>(end - begin));
    group = std::gcd(group, tiny.amounts.back());
  }
  for (std::int64_t& amount : tiny.amounts) amount /= group;
  tiny.memory = static_cast<std::int64_t>(model.layers.size()) * model.memory.numerator /
                (model.memory.denominator * model.ranks * group);
  return testing_support::least_makespan(tiny);
}

constexpr Shape kTiny[] = {
    {Placement::chain, 2, 1, 4}, {Placement::chain, 2, 1, 5}, {Placement::chain, 3, 1, 5},
    {Placement::loop, 2, 2, 5},  {Placement::loop, 2, 2, 6},  {Placement::v, 2, 2, 5},
    {Placement::v, 2, 2, 6},     {Placement::loop, 1, 3, 5},
};

PlacedModel tiny_model(Draw& draw) {
  const Shape& shape = kTiny[draw.between(0, std::ssize(kTiny) - 1)];
  return drawn_model(draw, shape, draw.between(1, shape.chunks * shape.ranks > 2 ? 2 : 3));
}

TEST(Cuts, no_order_is_below_the_bound_of_its_cut) {
  int equal = 0;
  int all = 0;
  for (std::uint64_t seed = 1; seed <= setting("RIPELINE_CASES", 200); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const PlacedModel model = tiny_model(draw);
    const int latency = draw.between(0, 2);
    const RankBounds bounds(model, {.unit = 1, .latency = static_cast<double>(latency)},
                            Objective::makespan);
    for (const Cut& first : all_cuts(static_cast<int>(model.layers.size()), model.stages())) {
      const auto makespan = least_makespan(model, first, latency);
      if (!makespan) continue;
      const RankBounds::Time bound = bound_of(model, bounds, first);
      EXPECT_LE(bound, *makespan) << ::testing::PrintToString(first);
      EXPECT_LE(bounds.of_every_cut(), *makespan);
      equal += bound == *makespan ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GT(3 * equal, all);  // the bounds are often exact
}

// Expects the cuts with the least bounds, where a cut's bound is the largest bound of its ranks.
void expect_best(const PlacedModel& model, const RankBounds::Times& times, Objective objective,
                 std::size_t most) {
  const RankBounds bounds(model, times, objective);
  std::vector<RankBounds::Time> all;
  for (const Cut& first : all_cuts(static_cast<int>(model.layers.size()), model.stages())) {
    const RankBounds::Time bound = bound_of(model, bounds, first);
    if (bound != RankBounds::kNoRoom) all.push_back(bound);
  }
  std::sort(all.begin(), all.end());
  const Cuts cuts = best_cuts(model, times, objective, most);
  ASSERT_FALSE(cuts.best.empty());
  if (all.empty()) {
    EXPECT_EQ(cuts.best.size(), 1U);
    EXPECT_EQ(cuts.rest, Cuts::kNoOther);
    return;
  }
  EXPECT_EQ(bound_of(model, bounds, cuts.best.front()), all.front());
  std::vector<Cut> sorted = cuts.best;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  const std::size_t count = std::min({most, all.size(), cuts.best.size()});
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(bound_of(model, bounds, cuts.best[i]), all[i]) << i;
  }
  for (const Cut& first : all_cuts(static_cast<int>(model.layers.size()), model.stages())) {
    if (std::binary_search(sorted.begin(), sorted.end(), first)) continue;
    const RankBounds::Time bound = bound_of(model, bounds, first);
    if (bound == RankBounds::kNoRoom) continue;
    EXPECT_LE(cuts.rest, std::max(bound, bounds.of_every_cut()));
  }
}

TEST(Cuts, are_the_best_of_all) {
  for (std::uint64_t seed = 1; seed <= setting("RIPELINE_CASES", 200); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const auto placement = static_cast<Placement>(draw.between(0, 2));
    const int chunks = placement == Placement::chain ? 1
                       : placement == Placement::v   ? 2
                                                     : draw.between(2, 3);
    const int ranks = draw.between(1, 4);
    const Shape shape{placement, ranks, chunks, chunks * ranks + draw.between(0, 3)};
    const PlacedModel model = drawn_model(draw, shape, draw.between(1, 12));
    expect_best(model, {.unit = 1000, .latency = draw.between(0, 8) / 4.},
                draw.between(0, 1) == 0 ? Objective::makespan : Objective::span,
                static_cast<std::size_t>(draw.between(1, 12)));
  }
}

// If there are more cuts than the search keeps, cuts worse than a known one are left out.
TEST(Cuts, are_the_best_of_very_many) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    const bool v = draw.between(0, 1) == 0;
    const Shape shape{v ? Placement::v : Placement::loop, 4, 2, 18};
    PlacedModel model = drawn_model(draw, shape, 8);
    model.memory = {40, 1};  // large, so that all cuts have room
    expect_best(model, {.unit = 1000, .latency = .5}, Objective::makespan, 1);
  }
}

// A claim of the search about all cuts is true of each cut.
TEST(Cuts, are_optimal_only_if_no_cut_has_a_better_order) {
  int optimal = 0;
  int best = 0;
  int all = 0;
  for (std::uint64_t seed = 1; seed <= setting("RIPELINE_CASES", 100); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed * 31);
    PlacedModel model = tiny_model(draw);
    const int latency = draw.between(0, 2);
    std::optional<std::int64_t> least;
    for (const Cut& first : all_cuts(static_cast<int>(model.layers.size()), model.stages())) {
      const auto makespan = least_makespan(model, first, latency);
      if (makespan) least = std::min(least.value_or(*makespan), *makespan);
    }
    const auto most = static_cast<std::size_t>(draw.between(1, 10));
    const Cuts cuts = best_cuts(model, {.unit = kUnit, .latency = static_cast<double>(latency)},
                                Objective::makespan, most);
    std::vector<Form> forms;
    for (const Cut& first : cuts.best) {
      model.first_layers = first;
      Posed made = posed(program_text(model), model.microbatches, latency);
      forms.push_back({"", std::move(made.source), std::move(made.problem), has_room(model)});
    }
    FormSearch search(forms, {.seconds = .03,
                              .others = cuts.rest == Cuts::kNoOther
                                            ? Bound{}
                                            : Bound{cuts.rest, "busiest rank of every cut"}});
    search.run();
    EXPECT_FALSE(!least && search.best());
    EXPECT_FALSE(least && !search.fits());
    if (!least || !search.best()) continue;
    EXPECT_LE(search.bound().value, *least * kUnit);
    EXPECT_GE(search.best_value(), *least * kUnit);
    optimal += search.best_value() == search.bound().value ? 1 : 0;
    best += search.best_value() == *least * kUnit ? 1 : 0;
    ++all;
  }
  RecordProperty("all", all);
  RecordProperty("optimal", optimal);
  RecordProperty("best", best);
  EXPECT_GT(4 * optimal, all);
  EXPECT_GT(2 * best, all);
}

}  // namespace
}  // namespace ripeline::optimise
