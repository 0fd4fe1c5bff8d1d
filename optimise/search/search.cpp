// The external interface is search().
#include "optimise/search/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "optimise/search/lengthen.h"
#include "optimise/search/list_rule.h"
#include "optimise/search/path_moves.h"
#include "optimise/search/short_rows.h"
#include "optimise/search/zero_bubble.h"

namespace ripeline::optimise {
namespace {

constexpr std::string_view kOneFOneB = "1F1B";
constexpr std::string_view kGroups = "groups of microbatches";
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
    const std::vector<int> lengths = lengths_of_ladder();
    for (int round = 0; incumbent_.goes_on(); ++round) {
      const double moves = kFirstMoves * std::pow(kGrowth, std::min(round, kMostGrowths));
      hot_ = kHot[static_cast<std::size_t>(round) % kHot.size()];
      anneal(uniform_.microbatches, moves);
      if (round % kBetweenLadders == kBetweenLadders - 1) climb(lengths, kMovesOfLadder * moves);
    }
  }

 private:
  static constexpr int kBetweenLadders = 4;
  static constexpr double kMovesOfLadder = .5;  // at each length
  static constexpr double kFirstMoves = 2e6;    // for kUsualMicrobatches
  static constexpr double kUsualMicrobatches = 24;
  static constexpr std::int64_t kFewOrders = 2000;  // to begin with
  static constexpr double kGrowth = 1.4;
  static constexpr int kMostGrowths = 10;
  // Tasks that moves between two questions whether to go on may time anew, and the most moves.
  static constexpr std::int64_t kMostTimed = 2'000'000;
  static constexpr std::int64_t kMostMoves = 2'000;
  // Temperatures, in the mean cost of a task.
  static constexpr std::array kHot = {.2, .4, .1, .3};  // by round
  static constexpr double kCold = .03;

  // From few microbatches to all of them: an order of each is lengthened to the next.
  [[nodiscard]] std::vector<int> lengths_of_ladder() const {
    const int least = std::max(2 * period_of() + 2, 2 * uniform_.ranks);
    std::vector<int> lengths;
    for (int length = uniform_.microbatches; length >= least; length -= period_of()) {
      lengths.push_back(length);
    }
    if (lengths.empty()) lengths.push_back(uniform_.microbatches);
    std::reverse(lengths.begin(), lengths.end());
    return lengths;
  }
  [[nodiscard]] int period_of() const { return uniform_.memory / chunks_of(uniform_); }

  [[nodiscard]] Uniform of_length(int length) const {
    Uniform shorter = uniform_;
    shorter.microbatches = length;
    return shorter;
  }

  void climb(const std::vector<int>& lengths, double moves) {
    for (const int length : lengths) {
      if (!incumbent_.goes_on()) return;
      if (length == lengths.front()) {
        begin_with(length);
      } else {
        lengthen_to(length);
      }
      if (length < uniform_.microbatches && best_.contains(length)) anneal(length, moves);
    }
  }

  void begin_with(int length) {
    if (best_.contains(length)) return;
    const Uniform problem = of_length(length);
    std::optional<FoundOrder> found;
    std::int64_t asked = 0;
    Incumbent incumbent(
        incumbent_.objective(), 0, [&] { return ++asked < kFewOrders && incumbent_.goes_on(); },
        [&](const FoundOrder& order, std::string_view) { found = order; });
    zero_bubble_search(problem, incumbent);
    if (found) best_[length] = short_rows_of(problem, *found);
  }

  // Starts with the best order of that length.
  void anneal(int length, double moves) {
    ShortRows& rows = best_.at(length);
    PathMoves path(of_length(length), incumbent_.objective(), rows, ++seed_ * 7919);
    const double all = moves * length / kUsualMicrobatches;
    const std::int64_t tasks =
        std::int64_t{3} * chunks_of(uniform_) * uniform_.ranks * uniform_.microbatches;
    const std::int64_t step = std::clamp<std::int64_t>(kMostTimed / tasks, 1, kMostMoves);
    const auto steps = static_cast<std::int64_t>(all / static_cast<double>(step)) + 1;
    const double mean =
        static_cast<double>(uniform_.forward + uniform_.input + uniform_.weight) / 3;
    for (std::int64_t i = 0; i < steps && incumbent_.goes_on(); ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(steps);
      path.run(step, mean * hot_ * std::pow(kCold / hot_, share));
      if (length == uniform_.microbatches && path.best() < incumbent_.best()->first) {
        if (const auto order = timed(uniform_, path.best_rows())) {
          incumbent_.offer(*order, kPathMoves);
        }
      }
    }
    rows = path.best_rows();
  }

  // Where that gives a better order than the one there is.
  void lengthen_to(int length) {
    const int period = period_of();
    const auto from = best_.find(length - period);
    if (from == best_.end()) return;
    const Uniform problem = of_length(length);
    std::optional<Value> best;
    if (best_.contains(length)) best = incumbent_.value_of(*timed(problem, best_.at(length)));
    const auto starts = starts_of(of_length(from->first), from->second);
    for (int first = 0; first + 2 * period <= from->first; ++first) {
      ShortRows longer = lengthened(from->second, starts, {first, period});
      const auto order = timed(problem, longer);
      if (!order) continue;
      const Value value = incumbent_.value_of(*order);
      if (length == uniform_.microbatches) incumbent_.offer(*order, kLengthened);
      if (best && *best <= value) continue;
      best = value;
      best_[length] = std::move(longer);
    }
  }

  const Uniform& uniform_;
  Incumbent& incumbent_;
  std::uint64_t seed_;
  double hot_ = kHot.front();
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
  if (!has_order(uniform)) return;
  const ShortRows first =
      chain ? run(uniform, one_f_one_b(uniform), objective, INT64_MAX)->rows : groups_of_v(uniform);
  if (const auto order = timed(uniform, first))
    incumbent.offer(*order, chain ? kOneFOneB : kGroups);
  if (chain) try_list_rules(uniform, incumbent);
  if (incumbent.goes_on()) zero_bubble_search(uniform, incumbent);
  if (!best || !incumbent.goes_on()) return;
  Annealing annealing(uniform, incumbent, limits.seed);
  annealing.start_with(short_rows_of(uniform, *best));
  annealing.run();
}

}  // namespace ripeline::optimise
