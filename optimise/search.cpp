// The external interface is search().
#include "optimise/search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "optimise/lengthen.h"
#include "optimise/list_rule.h"
#include "optimise/path_moves.h"
#include "optimise/short_rows.h"
#include "optimise/zero_bubble.h"

namespace ripeline::optimise {
namespace {

constexpr std::string_view kPathMoves = "moves on the critical path";
constexpr std::string_view kLengthened = "order of fewer microbatches, lengthened";

// On a V placement: as many microbatches as the memory holds go down and up, and then back.
ShortRows groups_of_v(const Uniform& uniform) {
  const int group = uniform.memory / 2;
  ShortRow row;
  for (int first = 0; first < uniform.microbatches; first += group) {
    const auto count = static_cast<std::size_t>(std::min(group, uniform.microbatches - first));
    for (const int lane :
         {kForward + 0, kForward + kUp, kInput + kUp, kWeight + kUp, kInput + 0, kWeight + 0}) {
      row.insert(row.end(), count, static_cast<Lane>(lane));
    }
  }
  return ShortRows(static_cast<std::size_t>(uniform.ranks), row);
}

// Local search on orders of the problem, and of it with fewer microbatches.
class Annealing {
 public:
  Annealing(const Uniform& uniform, Incumbent& incumbent, std::uint64_t seed)
      : uniform_(uniform), incumbent_(incumbent), seed_(seed) {}

  // Of the whole problem.
  void start_with(ShortRows rows) { best_[uniform_.microbatches] = std::move(rows); }

  void run() {
    const std::vector<int> lengths = shorter_lengths();
    for (int round = 0; incumbent_.goes_on(); ++round) {
      const double moves = kFirstMoves * std::pow(kGrowth, std::min(round, kMostGrowths));
      for (const int length : lengths) {
        shorter(length, moves);
      }
      anneal(uniform_.microbatches, moves * uniform_.microbatches / kUsualMicrobatches, kHot);
    }
  }

 private:
  static constexpr double kFirstMoves = 2e6;
  static constexpr double kGrowth = 1.3;
  static constexpr int kMostGrowths = 12;
  static constexpr double kUsualMicrobatches = 24;
  static constexpr std::int64_t kStep = 20'000;  // moves between two questions whether to go on
  // Temperatures, in the mean cost of a task.
  static constexpr double kHot = .3;
  static constexpr double kCold = .02;

  // From which an order of all microbatches can be made by repeating as many as the memory holds.
  [[nodiscard]] std::vector<int> shorter_lengths() const {
    std::vector<int> lengths;
    const int period = period_of();
    const int least = std::max(2 * period + 2, 2 * uniform_.ranks);
    for (int length = uniform_.microbatches - period; length >= least; length -= period) {
      if (length <= std::max(3 * uniform_.microbatches / 4, least + period)) {
        lengths.push_back(length);
      }
    }
    if (lengths.size() > 2) lengths.erase(lengths.begin(), lengths.end() - 2);
    std::reverse(lengths.begin(), lengths.end());
    return lengths;
  }
  [[nodiscard]] int period_of() const { return uniform_.memory / chunks_of(uniform_); }

  [[nodiscard]] Uniform of_length(int length) const {
    Uniform shorter = uniform_;
    shorter.microbatches = length;
    return shorter;
  }

  void shorter(int length, double moves) {
    if (!best_.contains(length)) {
      const Uniform problem = of_length(length);
      std::optional<FoundOrder> found;
      std::int64_t asked = 0;
      Incumbent incumbent(
          incumbent_.objective(), 0, [&] { return ++asked < 2000 && incumbent_.goes_on(); },
          [&](const FoundOrder& order, std::string_view) { found = order; });
      zero_bubble_search(problem, incumbent);
      if (!found) return;
      best_[length] = short_rows_of(problem, *found);
    }
    anneal(length, moves * length / kUsualMicrobatches, kHot);
    lengthen(length);
  }

  // Starts with the best order of that length.
  void anneal(int length, double moves, double hot) {
    ShortRows& rows = best_.at(length);
    PathMoves path(of_length(length), incumbent_.objective(), rows, ++seed_ * 7919);
    const auto steps = static_cast<std::int64_t>(moves / static_cast<double>(kStep)) + 1;
    const double mean =
        static_cast<double>(uniform_.forward + uniform_.input + uniform_.weight) / 3;
    for (std::int64_t i = 0; i < steps && incumbent_.goes_on(); ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(steps);
      path.run(kStep, mean * hot * std::pow(kCold / hot, share));
      if (length == uniform_.microbatches && path.best() < incumbent_.best()->first) {
        if (const auto order = timed(uniform_, path.best_rows())) {
          incumbent_.offer(*order, kPathMoves);
        }
      }
    }
    rows = path.best_rows();
  }

  void lengthen(int length) {
    const ShortRows& rows = best_.at(length);
    const auto starts = starts_of(of_length(length), rows);
    const int period = period_of();
    const int repeats = (uniform_.microbatches - length) / period;
    std::optional<std::pair<Value, ShortRows>> best;
    for (int first = 0; first + 2 * period <= length; ++first) {
      ShortRows longer = lengthened(rows, starts, {first, period, repeats});
      const auto order = timed(uniform_, longer);
      if (!order) continue;
      const Value value = incumbent_.value_of(*order);
      incumbent_.offer(*order, kLengthened);
      if (!best || value < best->first) best = {value, std::move(longer)};
    }
    if (!best) return;
    const auto whole = timed(uniform_, best_.at(uniform_.microbatches));
    if (best->first < incumbent_.value_of(*whole)) {
      best_[uniform_.microbatches] = std::move(best->second);
    }
  }

  const Uniform& uniform_;
  Incumbent& incumbent_;
  std::uint64_t seed_;
  std::map<int, ShortRows> best_;  // by microbatches
};

}  // namespace

void search(const Uniform& uniform, Objective objective, std::int64_t bound, const Limits& limits,
            const Report& better) {
  std::optional<FoundOrder> best;
  Incumbent incumbent(objective, bound, limits.go_on,
                      [&](const FoundOrder& order, std::string_view method) {
                        best = order;
                        better(order, method);
                      });
  const bool chain = chunks_of(uniform) == 1;
  if (!chain && uniform.memory < 2) return;
  const ShortRows first =
      chain ? run(uniform, one_f_one_b(uniform), objective, INT64_MAX)->rows : groups_of_v(uniform);
  if (const auto order = timed(uniform, first)) incumbent.offer(*order, "first order");
  if (chain) try_list_rules(uniform, incumbent);
  if (incumbent.goes_on()) zero_bubble_search(uniform, incumbent);
  if (!best || !incumbent.goes_on()) return;
  Annealing annealing(uniform, incumbent, limits.seed);
  annealing.start_with(short_rows_of(uniform, *best));
  annealing.run();
}

}  // namespace ripeline::optimise
