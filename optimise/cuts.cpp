#include "optimise/cuts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "optimise/cut_walk.h"
#include "optimise/search/random.h"

namespace ripeline::optimise {
namespace {

using Time = RankBounds::Time;
using Cut = std::vector<int>;

constexpr double kFewCuts = 5000;  // up to this number, all cuts are considered
constexpr std::int64_t kSteps = 1'000'000;
constexpr Time kNoLimit = RankBounds::kNoRoom - 1;

// C(layers - 1, stages - 1); if this is above kFewCuts, only some number above kFewCuts.
double number_of_cuts(std::size_t layers, int stages) {
  double number = 1;
  for (int i = 1; i < stages && number <= kFewCuts; ++i) {
    number = number * static_cast<double>(layers - static_cast<std::size_t>(i)) / i;
  }
  return number;
}

std::vector<Time> bounds_of_ranks(const PlacedModel& model, const RankBounds& bounds,
                                  const Cut& first) {
  std::vector<std::vector<RankBounds::Stage>> stages(static_cast<std::size_t>(model.ranks));
  for (int s = 0; s < model.stages(); ++s) {
    const auto i = static_cast<std::size_t>(s);
    const int end = i + 1 < first.size() ? first[i + 1] : static_cast<int>(model.layers.size());
    stages[static_cast<std::size_t>(rank_of(model, s))].push_back({s, first[i], end});
  }
  std::vector<Time> all;
  for (const auto& of_rank : stages) all.push_back(bounds.of(of_rank));
  return all;
}

// A local search. A move makes some neighbouring stages begin one layer earlier or later.
class Shifting {
 public:
  Shifting(const PlacedModel& model, const RankBounds& bounds, Cut first)
      : model_(model), bounds_(bounds), cut_(std::move(first)), energy_(energy_of(cut_)) {}

  // Returns the best `most` of the cuts that were accepted, best first.
  std::vector<Cut> run(std::size_t most) {
    Random random(1);
    const int moves = std::clamp(kStages / model_.stages(), kFewestMoves, kMostMoves);
    for (int move = 0; move < moves; ++move) {
      Cut other = cut_;
      if (!shift(random, other)) continue;
      const double energy = energy_of(other);
      const double heat = kHeat * (1 - static_cast<double>(move) / moves);
      const double drawn = static_cast<double>(random.draw(1U << 20U)) / (1U << 20U);
      if (energy > energy_ && energy > energy_ * (1 + heat * drawn)) continue;
      cut_ = std::move(other);
      energy_ = energy;
      keep(most);
    }
    std::vector<Cut> cuts;
    for (auto& [value, cut] : best_) cuts.push_back(cut);
    return cuts;
  }

 private:
  static constexpr int kStages = 1'000'000;  // evaluated stages, over all moves
  static constexpr int kFewestMoves = 1000;
  static constexpr int kMostMoves = 40'000;
  // The exponent of a rank's bound in the energy. It is so high that only the largest bounds count.
  static constexpr double kPower = 40;
  static constexpr double kHeat = .5;

  // Moves some boundaries of the cut; false if a stage would then have no layer.
  bool shift(Random& random, Cut& cut) const {
    const auto boundaries = static_cast<std::uint64_t>(cut.size() - 1);
    const std::uint64_t from = 1 + random.draw(boundaries);
    const std::uint64_t longest = boundaries + 1 - from;
    const std::uint64_t length = random.draw(2) == 0 ? 1 : 1 + random.draw(longest);
    const int way = random.draw(2) == 0 ? 1 : -1;
    for (std::uint64_t i = from; i < from + length; ++i) cut[i] += way;
    const std::uint64_t end = from + length;
    const int next = end < cut.size() ? cut[end] : static_cast<int>(model_.layers.size());
    return cut[from - 1] < cut[from] && cut[end - 1] < next;
  }

  double energy_of(const Cut& cut) {
    const auto scale = static_cast<double>(bounds_.of_every_cut());
    double sum = 0;
    worst_ = {0, 0};
    for (const Time bound : bounds_of_ranks(model_, bounds_, cut)) {
      sum += std::pow(static_cast<double>(bound) / scale, kPower);
      worst_ = {std::max(worst_.first, bound), worst_.second + static_cast<double>(bound)};
    }
    return sum;
  }

  void keep(std::size_t most) {
    if (worst_.first == RankBounds::kNoRoom) return;
    best_.emplace(std::pair(worst_, cut_), cut_);
    if (best_.size() > most) best_.erase(std::prev(best_.end()));
  }

  const PlacedModel& model_;
  const RankBounds& bounds_;
  Cut cut_;
  std::pair<Time, double> worst_;  // the last cut's largest bound, and the sum of its bounds
  double energy_;
  std::map<std::pair<std::pair<Time, double>, Cut>, Cut> best_;
};

}  // namespace

Time bound_of(const PlacedModel& model, const RankBounds& bounds, const Cut& first_layers) {
  const std::vector<Time> all = bounds_of_ranks(model, bounds, first_layers);
  return *std::max_element(all.begin(), all.end());
}

Cuts best_cuts(const PlacedModel& model, const RankBounds::Times& times, Objective objective,
               std::size_t most) {
  const Cut even = cut(model.layers, model.stages());
  Cuts cuts;
  cuts.best = {even};
  if (static_cast<int>(model.layers.size()) == model.stages()) return cuts;
  cuts.rest = 0;
  if (RankBounds::all_work(model, times) == RankBounds::kMost) return cuts;
  cuts.best.clear();
  const RankBounds bounds(model, times, objective);
  std::vector<Cut> met;
  Time limit = kNoLimit;
  if (number_of_cuts(model.layers.size(), model.stages()) > kFewCuts) {
    met = Shifting(model, bounds, even).run(most);
    if (!met.empty()) limit = bound_of(model, bounds, met.front());
  }
  if (!CutWalk(model, bounds, limit, kSteps).run(most, cuts)) {
    cuts = {.best = std::move(met), .rest = 0};
  } else if (limit != kNoLimit) {
    cuts.rest = std::min(cuts.rest, limit + bounds.grain());
  }
  cuts.rest = std::max(cuts.rest, bounds.of_every_cut());
  if (std::find(cuts.best.begin(), cuts.best.end(), even) == cuts.best.end()) {
    cuts.best.push_back(even);
  }
  return cuts;
}

}  // namespace ripeline::optimise
