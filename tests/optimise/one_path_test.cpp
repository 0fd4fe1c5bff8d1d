// Tests the path from a program to its order and back, for random programs with all features and
// random costs: each order is proved, and takes the same time in the simulator and the search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "optimise/certified.h"
#include "optimise/search/path_moves.h"
#include "optimise/search/search.h"
#include "spec/elaborate.h"
#include "tests/optimise/every_order.h"
#include "tests/optimise/problems.h"

namespace ripeline::optimise::one_path_test {
namespace {

struct Tried {
  bool found = false;
  bool exact = false;  // the model includes all of the program
};

Tried try_one(std::uint64_t seed, int steps) {
  const Drawn made = drawn(seed);
  const std::string what = fmt::format("RIPELINE_SEED={} RIPELINE_CASES=1\n{}", seed, made.text);
  const spec::Source source{"random.ripe", made.text};
  const Objective objective = seed % 3 == 0 ? Objective::span : Objective::makespan;
  auto problem =
      Problem::make(spec::compile(source).value(), made.microbatches, made.times, objective);
  if (!problem.ok()) {
    const std::string& why = problem.errors().front().message;
    EXPECT_TRUE(why.find("can never start") != why.npos || why.find("no bound is known") == 0)
        << why << what;
    return {};
  }
  const Problem& p = *problem.value();
  TimedOrder best;
  search(p, p.bound().value, {.go_on = [&] { return --steps >= 0; }, .seed = seed},
         [&](const TimedOrder& order, std::string_view) { best = order; });
  Tried tried{.found = !best.rows.empty(), .exact = !p.model().left_out.has_value()};
  if (!tried.found) return tried;
  EXPECT_TRUE(p.fits()) << what;
  const auto certain = certified(
      {.problem = p, .source = source, .read_file = {}, .bound = p.bound(), .order = best}, {});
  EXPECT_TRUE(certain.ok()) << certain.errors().front().message << what;
  return tried;
}

TEST(OnePath, of_random_programs_is_proved_and_timed_exactly) {
  const std::uint64_t seed = setting("RIPELINE_SEED", 1);
  const std::uint64_t cases = setting("RIPELINE_CASES", 150);
  std::uint64_t found = 0;
  std::uint64_t exact = 0;
  for (std::uint64_t i = 0; i < cases && !HasFailure(); ++i) {
    const Tried tried = try_one(seed + i, 60);
    found += tried.found ? 1U : 0U;
    exact += tried.found && tried.exact ? 1U : 0U;
  }
  RecordProperty("found", std::to_string(found));
  if (cases < 100) return;
  EXPECT_GE(found, cases / 2) << "seed " << seed;
  EXPECT_GE(exact, found / 4) << "seed " << seed;
  EXPECT_GE(found - exact, found / 8) << "seed " << seed;
}

// The makespan that the moves report for their best order is correct.
TEST(OnePath, moves_keep_to_the_times_of_their_order) {
  const std::uint64_t seed = setting("RIPELINE_SEED", 1);
  std::uint64_t moved = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Drawn made = drawn(seed + i);
    auto problem = Problem::make(spec::compile({"random.ripe", made.text}).value(),
                                 made.microbatches, made.times, Objective::makespan);
    if (!problem.ok()) continue;
    const Model& model = problem.value()->model();
    const auto first = problem.value()->of_own_dispatch();
    if (!first || !starts_of(model, first->rows)) continue;
    PathMoves path(model, Objective::makespan, first->rows, seed + i);
    for (const double temperature : {.3, 3., .1}) {
      path.run(500, temperature * static_cast<double>(kUnit));
      for (const bool best : {false, true}) {
        const auto starts = starts_of(model, best ? path.best_rows() : path.rows());
        ASSERT_TRUE(starts.has_value()) << "seed " << seed + i << '\n' << made.text;
        Time makespan = 0;
        for (int task = 0; task < model.tasks(); ++task) {
          makespan = std::max(makespan, at(*starts, task) + at(model.takes, task));
        }
        if (best) {
          EXPECT_EQ(makespan, path.best()) << "seed " << seed + i;
        }
      }
    }
    ++moved;
  }
  EXPECT_GE(moved, 30U);
}

// Visits all orders: the optimum lies between bound and value, and few steps find it.
TEST(OnePath, of_a_tiny_problem_has_the_optimum_between_bound_and_value) {
  const std::uint64_t seed = setting("RIPELINE_SEED", 1);
  const std::uint64_t cases = setting("RIPELINE_CASES", 60);
  std::uint64_t solved = 0;
  std::uint64_t reached = 0;
  for (std::uint64_t i = 0; i < cases && !HasFailure(); ++i) {
    const testing_support::TinyProblem tiny = tiny_problem(seed + i);
    const auto optimum = testing_support::least_makespan(tiny);
    if (!optimum) continue;
    const Posed pose = posed(text_of(tiny), tiny.microbatches, static_cast<double>(tiny.latency));
    Time best = -1;
    int steps = 200;
    search(*pose.problem, pose.problem->bound().value, {.go_on = [&] { return --steps >= 0; }},
           [&](const TimedOrder& order, std::string_view) { best = order.makespan; });
    EXPECT_LE(pose.problem->bound().value, *optimum * kUnit) << "seed " << seed + i;
    EXPECT_GE(best, *optimum * kUnit) << "seed " << seed + i;
    ++solved;
    reached += best == *optimum * kUnit ? 1U : 0U;
  }
  RecordProperty("reached", std::to_string(reached));
  EXPECT_GE(reached, solved * 9 / 10) << "of " << solved << ", seed " << seed;
}

}  // namespace
}  // namespace ripeline::optimise::one_path_test
