#include "optimise/part_bounds.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "optimise/solver/divisor.h"
#include "optimise/solver/solver.h"
#include "optimise/solver_threads.h"
#include "tests/optimise/every_order.h"
#include "tests/optimise/problems.h"

namespace ripeline::optimise {
namespace {

using testing_support::TinyProblem;

class PartBoundsTest : public testing::Test {
 protected:
  void SetUp() override { setenv("RIPELINE_SOLVER", RIPELINE_SOLVER_PROGRAM, 1); }
  void TearDown() override { unsetenv("RIPELINE_SOLVER"); }
};

// The least start, in units, of the entry task after `microbatches` others. If `is_hinted`, the
// program's own dispatch is the solver's hint.
SolveAnswer least_start(const Problem& problem, int microbatches, bool is_hinted = false) {
  const auto shorter = problem.of_length(microbatches + 1);
  const auto one = problem.of_length(1);
  const auto parts = PartBounds::of(one->model(), problem.microbatches());
  EXPECT_TRUE(parts);
  const Model& model = shorter->model();
  const auto order = shorter->of_own_dispatch();
  return solve({.model = model,
                .entry = at(model.lanes, parts->entry()).first + microbatches,
                .hint = is_hinted && order ? &order->rows : nullptr,
                .scale = kUnit,
                .seconds = 100,
                .proves = true});
}

#define SKIP_WITHOUT_SOLVER(answer) \
  if ((answer).why.find("OR-tools was not found") != std::string::npos) GTEST_SKIP() << (answer).why

Uniform chain(int ranks, int microbatches, int memory) {
  return {.ranks = ranks,
          .microbatches = microbatches,
          .forward = 24,
          .input = 23,
          .weight = 12,
          .latency = 1,
          .memory = memory};
}

// The values come from another model, written in Python.
TEST_F(PartBoundsTest, knows_the_least_starts_of_a_chain) {
  struct Row {
    int memory;
    int microbatches;
    Time start;
  };
  for (const auto& [memory, microbatches, start] :
       {Row{6, 5, 120}, Row{6, 6, 402}, Row{6, 11, 697}, Row{6, 12, 804}, Row{6, 20, 1364},
        Row{5, 16, 1285}, Row{4, 20, 2010}}) {
    const Posed posed = optimise::posed(chain(8, 64, memory));
    const SolveAnswer answer = least_start(*posed.problem, microbatches);
    SKIP_WITHOUT_SOLVER(answer);
    EXPECT_EQ(answer.status, SolveAnswer::Status::optimal);
    EXPECT_FALSE(answer.rows);
    EXPECT_EQ(answer.bound, start * kUnit) << memory << ' ' << microbatches;
  }
}

// The order in which a microbatch begins earliest has all B at the end, so it takes longer.
TEST_F(PartBoundsTest, are_of_any_order_whatever_the_hint) {
  const Posed posed = optimise::posed(R"(
pipeline late {
  microbatches any;
  stages 2;
  place s on s;
  op A forward when s == 0 { cost 100; }
  op B user "message" when s == 0 { cost 1; needs A at here; }
  op C backward when s == 1 { cost 100; needs B at prev; }
  order one on r { rank 0 { (A B) * microbatches; } rank 1 { C * microbatches; } }
  dispatch in order one;
}
)",
                                      30, 0);
  for (const bool is_hinted : {false, true}) {
    const SolveAnswer answer = least_start(*posed.problem, 20, is_hinted);
    SKIP_WITHOUT_SOLVER(answer);
    EXPECT_EQ(answer.status, SolveAnswer::Status::optimal);
    EXPECT_EQ(answer.bound, 2000 * kUnit);
  }
}

// Visits every order of the whole problem and of the rest.
TEST_F(PartBoundsTest, add_up_to_no_more_than_the_whole) {
  int used = 0;
  int reached = 0;
  const std::uint64_t seed = setting("RIPELINE_SEED", 1);
  const std::uint64_t cases = setting("RIPELINE_CASES", 60);
  for (std::uint64_t k = seed; k < seed + cases; ++k) {
    const TinyProblem tiny = tiny_problem(k);
    const Posed posed =
        optimise::posed(text_of(tiny), tiny.microbatches, static_cast<double>(tiny.latency));
    const auto whole = testing_support::least_makespan(tiny);
    const auto one = posed.problem->of_length(1);
    if (!whole || !one || !PartBounds::of(one->model(), tiny.microbatches)) continue;
    ++used;
    for (int part = 1; part < tiny.microbatches; ++part) {
      const SolveAnswer start = least_start(*posed.problem, part);
      SKIP_WITHOUT_SOLVER(start);
      ASSERT_TRUE(start.bound);
      EXPECT_EQ(least_start(*posed.problem, part, true).bound, start.bound);
      TinyProblem rest = tiny;
      rest.microbatches -= part;
      const Time sum = *start.bound / kUnit + *testing_support::least_makespan(rest);
      EXPECT_LE(sum, *whole) << "RIPELINE_SEED=" << k << " RIPELINE_CASES=1\n" << text_of(tiny);
      if (sum == *whole) ++reached;
    }
  }
  if (cases > 1) {
    EXPECT_GT(used, static_cast<int>(cases) / 2);
    EXPECT_GT(reached, used / 4);
  }
}

// Parts are combined in the best way; a part whose optimum is not found gets another attempt.
TEST_F(PartBoundsTest, ask_for_longer_ones_until_they_are_too_hard) {
  const Posed posed = optimise::posed(chain(8, 64, 6));
  const auto one = posed.problem->of_length(1);
  auto parts = PartBounds::of(one->model(), 64);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->bound(), 0);
  Time last = 0;
  int longest = 0;
  for (int k = 0; k < 12; ++k) {
    const auto part = parts->next();
    ASSERT_TRUE(part);
    EXPECT_EQ(part->attempt, 0);
    ASSERT_LT(part->microbatches, 64);
    longest = std::max(longest, part->microbatches);
    parts->set(*part, ((part->is_last ? 1000 : 0) + 100 * part->microbatches) * kUnit, true);
    EXPECT_GE(parts->bound(), last);
    last = parts->bound();
  }
  EXPECT_GE(longest, 26);
  EXPECT_EQ(last, (1000 + 100 * 64) * kUnit);

  // If the last part has 24 of the 64 microbatches, the others have 18 (three turns of the slots)
  // and 22, or 24 and 16. No part gets a second attempt before all have had a first one.
  auto both = PartBounds::of(one->model(), 64);
  std::set<std::pair<int, bool>> tried;
  for (std::optional<PartBounds::Part> part; (part = both->next()) && part->attempt == 0;) {
    tried.emplace(part->microbatches, part->is_last);
    both->set(*part, 50 * part->microbatches * kUnit, part->microbatches <= 20);
  }
  for (const auto& one_of_them :
       {std::pair{24, true}, {18, false}, {22, false}, {24, false}, {16, false}}) {
    EXPECT_TRUE(tried.contains(one_of_them)) << one_of_them.first;
  }

  auto hard = PartBounds::of(one->model(), 64);
  int asked = 0;
  std::optional<PartBounds::Part> part;
  for (; (part = hard->next()) && asked < 100; ++asked) {
    hard->set(*part, 50 * part->microbatches * kUnit, false);
  }
  EXPECT_FALSE(part);
  EXPECT_GT(asked, 3);
  EXPECT_LT(asked, 20);
  EXPECT_GT(hard->bound(), 0);
}

TEST_F(PartBoundsTest, are_never_longer_than_a_solver_can_solve) {
  for (const int microbatches : {36, 64, 77, 150, 1001, 2048}) {
    for (const int memory : {2, 3, 4, 6, 8}) {
      const Posed posed = optimise::posed(chain(8, 1, memory));
      auto parts = PartBounds::of(posed.problem->model(), microbatches);
      ASSERT_TRUE(parts);
      int asked = 0;
      while (const auto part = parts->next()) {
        EXPECT_LE(part->microbatches * 24, 768) << microbatches << ' ' << memory;
        parts->set(*part, 50 * part->microbatches * kUnit, true);
        ASSERT_LT(++asked, 100);
      }
      EXPECT_GT(asked, 2);
    }
  }
}

// A rank's two stages share its memory, which has room for one microbatch. Each microbatch adds 8
// to the makespan, as visiting every order of 3 and of 4 shows. The next microbatch's first forward
// may start 6 after this one's, when the weight gradient of the rank's last stage has ended.
TEST_F(PartBoundsTest, hold_the_room_of_the_entry) {
  TinyProblem tiny{.v = true, .ranks = 2, .microbatches = 4, .memory = 2};
  const Posed posed = optimise::posed(text_of(tiny), 4, 0);
  const Time four = *testing_support::least_makespan(tiny);
  tiny.microbatches = 3;
  ASSERT_EQ(four - *testing_support::least_makespan(tiny), 8);
  for (int part = 1; part < 4; ++part) {
    const SolveAnswer start = least_start(*posed.problem, part);
    SKIP_WITHOUT_SOLVER(start);
    EXPECT_EQ(start.bound, (8 * part - 2) * kUnit) << part;
  }
}

TEST_F(PartBoundsTest, need_an_entry_and_microbatches_that_are_alike) {
  const char* const kTwoEntries = R"(
pipeline two {
  microbatches any;
  stages 2;
  place s on s;
  op A forward { cost 1; }
  op B backward { cost 1; needs A at here; }
  dispatch ready;
}
)";
  const Posed two = optimise::posed(kTwoEntries, 4, 0);
  const auto one = two.problem->of_length(1);
  ASSERT_TRUE(one);
  EXPECT_FALSE(PartBounds::of(one->model(), 4));
}

// If capacities depend on the number of microbatches, parts prove nothing for the whole step.
TEST_F(PartBoundsTest, are_not_of_other_capacities) {
  const auto text = [](const char* most) {
    return std::string(R"(
pipeline some {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { cost 1; needs F at prev; acquires room; }
  op B backward { cost 1; needs F at here, B at next; releases room; }
  resource room per rank { }
  dispatch ready;
  assert peak room <= )") +
           most + ";\n}\n";
  };
  for (const auto& [most, alike] : {std::pair("3", true), std::pair("microbatches div 3", false)}) {
    const Posed posed = optimise::posed(text(most), 9, 0);
    const auto shorter = posed.problem->of_length(5);
    ASSERT_TRUE(shorter);
    EXPECT_EQ(PartBounds::are_alike(shorter->model(), posed.problem->model()), alike) << most;
  }
}

TEST_F(PartBoundsTest, raise_the_bound_of_a_long_step) {
  const Posed posed = optimise::posed(chain(4, 80, 2));
  const Problem& problem = *posed.problem;
  ASSERT_GT(problem.model().tasks(), 800);
  SolverThreads solver(problem, 2, 1);
  const auto order = problem.of_own_dispatch();
  ASSERT_TRUE(order);
  solver.offer(*order);  // then no thread searches the whole problem for an order
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (solver.bound().by != "parts of it, by CP-SAT" && !solver.is_over() &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (solver.why().find("OR-tools was not found") != std::string::npos) GTEST_SKIP();
  EXPECT_EQ(solver.why(), "");
  EXPECT_GT(solver.bound().value, problem.bound().value);
  EXPECT_EQ(solver.bound().by, "parts of it, by CP-SAT");
}

TEST_F(PartBoundsTest, are_rounded_down_by_what_fits_their_times) {
  Uniform uniform{.ranks = 8,
                  .microbatches = 1,
                  .forward = 18546,
                  .input = 18097,
                  .weight = 9321,
                  .latency = 762,
                  .memory = 6};
  const Posed posed = optimise::posed(uniform);
  const Model& model = posed.problem->model();
  const Time divisor = divisor_of(model, 30, 150, 200);
  EXPECT_EQ(divisor % kUnit, 0);
  const Time by = divisor / kUnit;
  EXPECT_LT(15000 / 150, by);
  EXPECT_LT(by, 15400 / 30);
  // Rounding loses at most .1 % of a trip down and up, and .2 % of a rank's work for a microbatch.
  const auto lost = [&](Time trips, Time latencies) {
    const Time rounded = trips * (18546 / by + 18097 / by) + latencies * (762 / by) + 9321 / by;
    const Time exact = trips * (18546 + 18097) + latencies * 762 + 9321;
    return 1 - static_cast<double>(rounded * by) / static_cast<double>(exact);
  };
  EXPECT_LT(lost(8, 14), .001);
  EXPECT_LT(lost(1, 0), .002);
  EXPECT_EQ(divisor_of(model, 30, 150, 20000), kUnit) << "short enough without rounding";
}

}  // namespace
}  // namespace ripeline::optimise
