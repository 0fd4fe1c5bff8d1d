// The external interface is search().
#include "optimise/search/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "optimise/search/first_order.h"
#include "optimise/search/incumbent.h"
#include "optimise/search/lengthen.h"
#include "optimise/search/list_rule.h"
#include "optimise/search/path_moves.h"
#include "optimise/search/ready_rule.h"
#include "optimise/search/short_rows.h"
#include "optimise/search/zero_bubble.h"
#include "verify/verify.h"

namespace ripeline::optimise {
namespace {

constexpr std::string_view kOneFOneB = "1F1B";
constexpr std::string_view kGroups = "groups of microbatches";
constexpr std::string_view kOwnDispatch = "the program's dispatch";
constexpr std::string_view kOneByOne = "one microbatch after the other";
constexpr std::string_view kRandomRule = "a rule drawn at random";
constexpr std::string_view kPathMoves = "moves on the critical path";
constexpr std::string_view kLengthened = "order of fewer microbatches, lengthened";

// An order that is not the best may be improved only if it takes no longer than this.
Time farthest(Time best) { return best + best / 10; }

constexpr int kManyTasks = 25'000;

using Best = Incumbent<TimedOrder>;

void offer(const Problem& problem, const TimedOrder& found, std::string_view method, Best& best) {
  if (best.is_better(best.value_of(found)) && problem.is_safe(found.rows)) {
    best.offer(found, method);
  }
}

// Offers the order; returns whether it is legal.
bool offer(const Problem& problem, const Rows& rows, std::string_view method, Best& best) {
  const auto found = problem.timed(rows);
  if (found) offer(problem, *found, method, best);
  return found.has_value();
}

// An order for a V, in groups of as many microbatches as fit: all their forwards, then backwards.
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

// The best orders found at the start of the search; of orders with the same time, only the first.
class Starts {
 public:
  void add(Time value, const Rows& rows) {
    orders_.emplace(value, rows);
    if (orders_.size() > kMost) orders_.erase(std::prev(orders_.end()));
  }
  // Returns the orders that take at most `most`, and moves them out of the object.
  [[nodiscard]] std::vector<Rows> take(Time most) {
    std::vector<Rows> all;
    for (auto& [value, rows] : orders_) {
      if (value <= most) all.push_back(std::move(rows));
    }
    return all;
  }

 private:
  static constexpr std::size_t kMost = 30;
  std::map<Time, Rows> orders_;
};

// Tries the methods for even models, on the program's even model or on the nearest one.
void start_uniform(const Problem& problem, Best& best, Starts& starts) {
  const UniformProgram& program = *problem.nearest_uniform();
  const Uniform& uniform = program.problem;
  if (!has_order(uniform)) return;
  UniformIncumbent incumbent(
      problem.objective(), program.is_exact ? best.bound() : 0, [&] { return best.goes_on(); },
      [&](const FoundOrder& order, std::string_view method) {
        const auto found = problem.timed(program.rows_of(order, problem.model()));
        if (!found) return;
        if (!program.is_exact) starts.add(best.value_of(*found).first, found->rows);
        offer(problem, *found, method, best);
      });
  const bool chain = chunks_of(uniform) == 1;
  const ShortRows first =
      chain ? run(uniform, one_f_one_b(uniform), problem.objective(), INT64_MAX)->rows
            : groups_of_v(uniform);
  if (const auto order = timed(uniform, first)) {
    incumbent.offer(*order, chain ? kOneFOneB : kGroups);
  }
  if (chain) try_list_rules(program.bytes.value_or(uniform), incumbent);
  if (incumbent.goes_on()) zero_bubble_search(uniform, incumbent);
}

// Tries random rules. If an order is known, few, since moves on that order are more useful.
void start_any(const Problem& problem, std::uint64_t seed, bool has_order, Best& best,
               Starts& starts) {
  constexpr int kRulesOfKnown = 8;
  constexpr int kMostRules = 2000;
  constexpr std::int64_t kMostTasks = 5'000'000;  // for all rules together
  const auto base = first_order(problem.model());
  if (!base || !offer(problem, *base, kOneByOne, best)) return;
  RandomRules rules(problem.program(), problem.model(), seed);
  const auto all = static_cast<int>(
      std::clamp<std::int64_t>(kMostTasks / (problem.model().tasks() + 1), 10, kMostRules));
  const int most = has_order ? all / kRulesOfKnown : all;
  for (int i = 0; i < most && best.goes_on(); ++i) {
    const auto rows = run(problem.model(), *base, rules.next());
    const auto found = rows ? problem.timed(*rows) : std::nullopt;
    if (!found) continue;
    starts.add(best.value_of(*found).first, *rows);
    offer(problem, *found, kRandomRule, best);
  }
}

void start(const Problem& problem, std::uint64_t seed, Best& best, Starts& starts) {
  const bool has_order = best.best().has_value();
  if (const auto own = problem.of_own_dispatch()) {
    const auto found = problem.timed(own->rows);
    // The program's own order is the reference for all others, so its proof may visit more states.
    if (found && problem.is_safe(found->rows, verify::VerifyOptions().search_states)) {
      best.offer(*found, kOwnDispatch);
    }
  }
  const auto& uniform = problem.nearest_uniform();
  const bool is_even = problem.uniform() != nullptr;
  // On an even chain, random rules gain nothing. On an even V placement, other methods gain more if
  // the tasks are few (moves on groups of microbatches) or if building blocks fit the memory. They
  // need a third of the memory of 1F1B.
  const bool is_known =
      is_even && (chunks_of(uniform->problem) == 1 || problem.model().tasks() < kManyTasks ||
                  3 * uniform->problem.memory >= 2 * uniform->problem.ranks);
  if (!is_known) start_any(problem, seed, has_order, best, starts);
  if (uniform && (is_known || best.goes_on())) start_uniform(problem, best, starts);
}

// Local search on orders of the problem and on orders of fewer microbatches.
class Annealing {
 public:
  Annealing(const Problem& problem, Best& incumbent, const Limits& limits)
      : problem_(problem), incumbent_(incumbent), limits_(limits), seed_(limits.seed) {}

  // Sets the orders of the whole problem to begin with: the best, and some that may become better.
  void start_with(Rows rows, std::vector<Rows> others) {
    lengths_[problem_.microbatches()].best = std::move(rows);
    others_ = std::move(others);
  }

  void run() {
    const std::vector<int> lengths = lengths_of_ladder();
    for (int round = 0; incumbent_.goes_on(); ++round) {
      const double moves = kFirstMoves * std::pow(kGrowth, std::min(round, kMostGrowths));
      hot_ = kHot[static_cast<std::size_t>(round) % kHot.size()];
      take_from_elsewhere();
      Rows& best = lengths_[problem_.microbatches()].best;
      anneal(problem_, best, moves);
      if (!others_.empty()) {
        Rows& other = others_[static_cast<std::size_t>(round) % others_.size()];
        const Value before = *incumbent_.best();
        anneal(problem_, other, kMovesOfOther * moves);
        if (*incumbent_.best() < before) best = other;
      }
      if (round % kBetweenLadders == kBetweenLadders - 1) climb(lengths, kMovesOfLadder * moves);
    }
  }

 private:
  static constexpr int kBetweenLadders = 4;
  static constexpr double kMovesOfLadder = .5;  // at each length
  static constexpr double kMovesOfOther = .5;   // for each order except the best
  static constexpr double kFirstMoves = 2e6;    // for kUsualMicrobatches
  static constexpr double kUsualMicrobatches = 24;
  static constexpr std::int64_t kFewOrders = 2000;  // for the first orders
  static constexpr double kGrowth = 1.4;
  static constexpr int kMostGrowths = 10;
  // The most task times computed, and the most moves tried, between two calls of `go_on`.
  static constexpr std::int64_t kMostTimed = 2'000'000;
  static constexpr std::int64_t kMostMoves = 2'000;
  // The moves between two calls of `go_on` if each order's times need a simulated run.
  static constexpr std::int64_t kMovesPerRun = 200;
  // A round also ends after kWorkOfMove of work per planned move, which happens with many tasks. If
  // that is less work than kWorkToCool per task, the round starts cold, as it could not cool down.
  static constexpr double kWorkOfMove = 5;
  static constexpr double kWorkToCool = 300;
  // Temperatures, in units of the mean cost of a task.
  static constexpr std::array kHot = {.2, .4, .1, .3};  // by round
  static constexpr double kCold = .03;

  struct Length {
    std::unique_ptr<Problem> problem;  // with fewer microbatches
    Rows best;                         // empty if none is known yet
  };

  // Numbers of microbatches, from few to all. An order for each is lengthened for the next number.
  [[nodiscard]] std::vector<int> lengths_of_ladder() const {
    std::vector<int> lengths = {problem_.microbatches()};
    const int period = period_of();
    if (period == 0) return lengths;
    const int least = std::max(2 * period + 2, 2 * problem_.program().ranks);
    while (lengths.back() - period >= least) lengths.push_back(lengths.back() - period);
    std::reverse(lengths.begin(), lengths.end());
    return lengths;
  }

  // The number of microbatches that fit the tightest pool; 0 if the model cannot be lengthened.
  [[nodiscard]] int period_of() const {
    const Model& model = problem_.model();
    std::int64_t least = problem_.microbatches();
    if (!model.even || model.left_out || model.pools.empty()) return 0;
    for (const Model::Pool& pool : model.pools) {
      std::int64_t taken = 0;
      for (const Model::Use& use : pool.uses) taken += use.acquires;
      if (taken > 0) least = std::min(least, pool.capacity / taken);
    }
    return static_cast<int>(least);
  }

  // The problem with this number of microbatches; nullptr if it cannot be made.
  [[nodiscard]] const Problem* of_length(int length) {
    if (length == problem_.microbatches()) return &problem_;
    Length& entry = lengths_[length];
    if (!entry.problem) entry.problem = problem_.of_length(length);
    return entry.problem.get();
  }

  void climb(const std::vector<int>& lengths, double moves) {
    for (const int length : lengths) {
      if (!incumbent_.goes_on() || of_length(length) == nullptr) return;
      if (length == lengths.front()) {
        begin_with(length);
      } else {
        lengthen_to(length);
      }
      Rows& rows = lengths_[length].best;
      if (length < problem_.microbatches() && !rows.empty())
        anneal(*of_length(length), rows, moves);
    }
  }

  void begin_with(int length) {
    Rows& rows = lengths_[length].best;
    if (!rows.empty()) return;
    std::int64_t asked = 0;
    Best few(
        incumbent_.objective(), 0, [&] { return ++asked < kFewOrders && incumbent_.goes_on(); },
        [&](const TimedOrder& order, std::string_view) { rows = order.rows; });
    Starts starts;
    start(*of_length(length), seed_, few, starts);
  }

  void take_from_elsewhere() {
    const auto order = limits_.elsewhere ? limits_.elsewhere() : std::nullopt;
    if (!order || !incumbent_.take(*order)) return;
    lengths_[problem_.microbatches()].best = order->rows;
  }

  // Anneals an order, and replaces it by the best order found.
  void anneal(const Problem& problem, Rows& rows, double moves) {
    const int length = problem.microbatches();
    const Model& model = problem_.model();
    PathMoves path(problem.model(), incumbent_.objective(), rows, ++seed_ * 7919);
    const double all = moves * length / kUsualMicrobatches;
    const double most_work = moves * kWorkOfMove;
    const std::int64_t step =
        model.left_out ? kMovesPerRun
                       : std::clamp<std::int64_t>(kMostTimed / model.tasks(), 1, kMostMoves);
    const double mean =
        static_cast<double>(std::accumulate(model.takes.begin(), model.takes.end(), Time{0})) /
        std::max(1, model.tasks());
    const double hot = most_work < problem.model().tasks() * kWorkToCool ? kCold : hot_;
    const bool whole = &problem == &problem_;
    Time offered = INT64_MAX;
    double tried = 0;
    double share = 0;
    while (share < 1 && incumbent_.goes_on()) {
      path.run(step, mean * hot * std::pow(kCold / hot, share));
      tried += static_cast<double>(step);
      share = std::max(tried / all, static_cast<double>(path.work()) / most_work);
      if (!whole) continue;
      if (model.left_out) {
        offer(problem_, path.rows(), kPathMoves, incumbent_);
      } else if (path.best() < std::min(offered, incumbent_.best()->first)) {
        offered = path.best();
        offer(problem_, path.best_rows(), kPathMoves, incumbent_);
      }
    }
    if (!model.left_out) rows = path.best_rows();
  }

  // Lengthens the order of the next shorter length; a better result replaces the known order.
  void lengthen_to(int length) {
    const int period = period_of();
    const Rows& shorter = lengths_[length - period].best;
    if (shorter.empty()) return;
    const Problem& from = *of_length(length - period);
    const Problem& problem = *of_length(length);
    Rows& rows = lengths_[length].best;
    std::optional<Value> best;
    if (!rows.empty()) best = incumbent_.value_of(*problem.timed(rows));
    const auto starts = *starts_of(from.model(), shorter);
    for (int first = 0; first + 2 * period <= from.microbatches(); ++first) {
      Rows longer = lengthened(from.model(), starts, {first, period});
      const auto order = problem.timed(longer);
      if (!order) continue;
      const Value value = incumbent_.value_of(*order);
      if (&problem == &problem_) incumbent_.offer(*order, kLengthened);
      if (best && *best <= value) continue;
      best = value;
      rows = std::move(longer);
    }
  }

  const Problem& problem_;
  Best& incumbent_;
  const Limits& limits_;
  std::uint64_t seed_;
  double hot_ = kHot.front();
  std::map<int, Length> lengths_;  // by microbatches
  std::vector<Rows> others_;
};

}  // namespace

void search(const Problem& problem, Time bound, const Limits& limits,
            const std::function<void(const TimedOrder& order, std::string_view method)>& better) {
  Rows best;
  Best incumbent(problem.objective(), bound, limits.go_on,
                 [&](const TimedOrder& order, std::string_view method) {
                   best = order.rows;
                   better(order, method);
                 });
  if (const auto known = limits.elsewhere ? limits.elsewhere() : std::nullopt) {
    incumbent.take(*known);
    best = known->rows;
  }
  Starts starts;
  start(problem, limits.seed, incumbent, starts);
  if (best.empty() || !incumbent.goes_on()) return;
  Annealing annealing(problem, incumbent, limits);
  annealing.start_with(best, starts.take(farthest(incumbent.best()->first)));
  annealing.run();
}

}  // namespace ripeline::optimise
