#include "cli/placements.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>

#include <fmt/format.h>

#include "cli/failure.h"
#include "optimise/search/search.h"
#include "simulate/rank_costs.h"

namespace ripeline::cli {
namespace {

using optimise::Objective;
using optimise::Uniform;
using spec::Placement;

constexpr std::int64_t kMostTasks = 1'000'000;
constexpr double kMostTime = 1e12;        // of all tasks: a run counts to 9e12 milliseconds
constexpr std::size_t kMostDecimals = 4;  // so that nanoseconds of a millisecond do
constexpr int kUsualMicrobatches = 8;

std::atomic<bool> told_to_end{false};

void end_search(int /*signal*/) { told_to_end = true; }

// What is ignored stays so.
void (*taken_over(int signal))(int) {
  void (*const before)(int) = std::signal(signal, end_search);
  if (before == SIG_IGN) std::signal(signal, SIG_IGN);
  return before;
}

spec::Result<std::vector<std::int64_t>> read_costs(const std::vector<std::string>& texts,
                                                   std::int64_t& denominator) {
  const auto expected = failure(fmt::format(
      "--costs: expected F,I,W,LATENCY: three numbers above 0 and one of 0 or more, below 1e9 and "
      "with up to {} decimals, as in 24,23,12,0.5",
      kMostDecimals));
  std::vector<spec::Rational> costs;
  denominator = 1;
  for (const std::string& text : texts) {
    const auto cost = simulate::decimal(text);
    const std::size_t point = std::min(text.find('.'), text.size());
    if (!cost || text.size() - point > kMostDecimals + 1) return expected;
    costs.push_back(*cost);
    std::int64_t power = 1;
    for (std::size_t i = point + 1; i < text.size(); ++i) power *= 10;
    denominator = std::max(denominator, power);
  }
  if (costs.size() != 4) return expected;
  std::vector<std::int64_t> scaled;
  for (const spec::Rational& cost : costs) {
    scaled.push_back(cost.numerator * (denominator / cost.denominator));
  }
  if (*std::min_element(scaled.begin(), scaled.begin() + 3) <= 0) return expected;
  return scaled;
}

std::int64_t value_of(const optimise::FoundOrder& order, Objective objective) {
  return objective == Objective::wall ? order.wall : order.span;
}

}  // namespace

const char* name_of(Objective objective) { return objective == Objective::wall ? "wall" : "span"; }
double gap_of(double value, double bound) { return (value - bound) / value; }

spec::Result<std::vector<Setup>> setups_of(const Asked& asked) {
  const auto count = one_count(asked.microbatches);
  if (!count.ok()) return count.errors();
  std::int64_t denominator = 1;
  const auto costs = read_costs(asked.costs, denominator);
  if (!costs.ok()) return costs.errors();
  const auto memory = asked.memory.empty() ? std::optional(spec::Rational{asked.ranks, 1})
                                           : simulate::decimal(asked.memory);
  if (!memory || memory->numerator <= 0) {
    return failure(
        "--memory: expected how many activations of all its layers a rank may hold, a number above "
        "0, as in 7 or 2.5");
  }
  std::vector<Setup> setups;
  const auto add = [&](const char* name, Placement placement) {
    Setup setup{name, {.placement = placement}};
    Uniform& problem = setup.problem;
    const std::int64_t chunks = optimise::chunks_of(problem);
    setup.unit = chunks * denominator;
    problem.ranks = asked.ranks;
    problem.microbatches = count.value().value_or(kUsualMicrobatches);
    problem.forward = costs.value()[0];
    problem.input = costs.value()[1];
    problem.weight = costs.value()[2];
    problem.latency = costs.value()[3] * chunks;
    const std::int64_t room = chunks * memory->numerator / memory->denominator;
    const std::int64_t most = chunks * problem.microbatches;
    problem.memory = static_cast<int>(std::min(room, most));
    setups.push_back(setup);
  };
  if (asked.placement != Placements::v) add("chain", Placement::chain);
  if (asked.placement != Placements::chain) add("v", Placement::v);
  for (Setup& setup : setups) {
    const Uniform& problem = setup.problem;
    const std::int64_t lanes = std::int64_t{3} * optimise::chunks_of(problem) * problem.ranks;
    if (lanes > kMostTasks / problem.microbatches) {
      return failure(
          fmt::format("--ranks and -m: more than {} tasks are not searched", kMostTasks));
    }
    const std::int64_t longest =
        std::max({problem.forward, problem.input, problem.weight, problem.latency});
    if (setup.in_units(longest) > kMostTime / static_cast<double>(lanes * problem.microbatches)) {
      return failure(
          fmt::format("--costs: all tasks together take more than {:g}; take a larger "
                      "unit",
                      kMostTime));
    }
    if (optimise::has_order(problem)) setup.bound = optimise::lower_bound(problem, asked.objective);
  }
  return setups;
}

PlacementSearch::Signals::Signals() {
  told_to_end = false;
  interrupt_ = taken_over(SIGINT);
  terminate_ = taken_over(SIGTERM);
}
PlacementSearch::Signals::~Signals() {
  std::signal(SIGINT, interrupt_);
  std::signal(SIGTERM, terminate_);
}

PlacementSearch::PlacementSearch(const Asked& asked, const std::vector<Setup>& setups)
    : asked_(asked), setups_(setups) {
  for (const Setup& setup : setups) {
    if (!optimise::has_order(setup.problem)) continue;
    const double bound = setup.in_units(setup.bound.value);
    if (!bound_.by.empty() && bound_.value <= bound) continue;
    bound_ = {bound, setups.size() > 1 ? fmt::format("{}: {}", setup.name, setup.bound.by)
                                       : setup.bound.by};
  }
}

void PlacementSearch::run() {
  constexpr double kTrial = .1;  // of the time
  for (const Setup& setup : setups_) {
    if (setups_.size() > 1) search(setup, seconds() + kTrial * asked_.seconds);
  }
  if (best_) search(*best_->setup, asked_.seconds);
  for (const Setup& setup : setups_) search(setup, asked_.seconds);  // if there is time left
}

double PlacementSearch::best_value() const {
  return best_->setup->in_units(value_of(best_->order, asked_.objective));
}

double PlacementSearch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

bool PlacementSearch::interrupted() const { return told_to_end; }

// Until `end`, or until nothing better is possible.
void PlacementSearch::search(const Setup& setup, double end) {
  if (!optimise::has_order(setup.problem)) return;
  if (best_ && setup.in_units(setup.bound.value) >= best_value()) return;
  optimise::search(setup.problem, asked_.objective, setup.bound.value,
                   {.go_on = [&] { return !told_to_end && seconds() < end; }, .seed = asked_.seed},
                   [&](const optimise::FoundOrder& order, std::string_view method) {
                     add(setup, order, method);
                   });
}

void PlacementSearch::add(const Setup& setup, const optimise::FoundOrder& order,
                          std::string_view method) {
  const double value = setup.in_units(value_of(order, asked_.objective));
  if (best_ && best_->setup == &setup && value == best_value() &&
      order.wall + order.span < best_->order.wall + best_->order.span) {
    best_->order = order;  // better by the other measure
  }
  if (best_ && value >= best_value()) return;
  best_ = Best{&setup, order};
  const double bound = setup.in_units(setup.bound.value);
  improvements_.push_back({seconds(), value, bound, fmt::format("{}, {}", setup.name, method)});
  std::cerr << fmt::format("{:>7.2f} s  {} {:<10} bound {:<10} gap {:>6.2f} %  {}\n", seconds(),
                           name_of(asked_.objective), fmt::format("{:.12g}", value),
                           fmt::format("{:.12g}", bound), 100 * gap_of(value, bound),
                           improvements_.back().method);
}

}  // namespace ripeline::cli
