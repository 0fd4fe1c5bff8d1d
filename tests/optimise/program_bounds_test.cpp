// Tests bounds of programs: small programs whose bound is derived by hand, and random programs with
// all features, whose runs under any dispatch must take at least the bound.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <fmt/format.h>

#include "optimise/bounds/bounds.h"
#include "optimise/racing/race.h"
#include "spec/elaborate.h"
#include "tests/optimise/every_order.h"
#include "tests/optimise/problems.h"
#include "tests/simulate/runs.h"

namespace ripeline::optimise {
namespace {

using testing_support::compiled_schedule;

// A text `WALL by FORMULA / SPAN by FORMULA`, in units, or the error.
std::string bounds(const spec::Program& program, int microbatches,
                   const simulate::TimingOptions& times = {}) {
  const auto unit = static_cast<double>(simulate::plain_unit().nanoseconds);
  std::string text;
  for (const Objective objective : {Objective::makespan, Objective::span}) {
    Bound bound;
    const core::Status status = lower_bound(program, microbatches, times, objective, bound);
    if (!status.ok()) return status.message();
    text += fmt::format("{}{:g} by {}", text.empty() ? "" : " / ",
                        static_cast<double>(bound.value) / unit, bound.by);
  }
  return text;
}

simulate::TimingOptions with_latency(double latency) {
  simulate::TimingOptions times;
  times.latency = latency;
  return times;
}

TEST(ProgramBounds, add_the_paths_before_and_after_to_the_work_of_an_engine) {
  const spec::Program program = compiled_schedule(R"(
pipeline chain {
  microbatches any;
  stages 3;
  place s on s;
  op F forward { cost 2; needs F at prev; }
  op B backward { cost 3; needs F at here, B at next; }
  dispatch ready;
}
)");
  EXPECT_EQ(bounds(program, 1, with_latency(1)),
            "19 by path to 0B0 / 19 by path to 0B0, in the span of rank 0");
  // Two forwards and two messages precede all F and B of rank 2, and two backwards follow them.
  EXPECT_EQ(bounds(program, 8, with_latency(1)),
            "54 by work of rank 2 / 54 by work of rank 2, in the span of rank 0");
}

TEST(ProgramBounds, know_what_else_a_program_may_have) {
  // The G of each stage follows all its W; each G also depends on tasks of the other stage.
  EXPECT_EQ(bounds(compiled_schedule(R"(
pipeline sums {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { needs F at prev; }
  op W backward weight { cost 2; needs F at here; }
  op G reduce once on comm { cost 5; needs W at here of all, G at next; }
  dispatch ready;
}
)"),
                   4),
            "23 by work of rank 1 / 23 by work of rank 1, in the span of rank 0");
  // Only one stage runs at a time, since F waits for the previous microbatch at the last stage.
  EXPECT_EQ(bounds(compiled_schedule(R"(
pipeline turns {
  microbatches any;
  stages 2;
  place s on s;
  op F forward sequential { cost 3; needs F at prev, F at next of m - 1; }
  dispatch ready;
}
)"),
                   4),
            "24 by path to 1F3 / 21 by path to 0F3, in the span of rank 0");
  // A pair takes 3; each of its tasks alone takes 2.
  EXPECT_EQ(bounds(compiled_schedule(R"(
pipeline beside {
  microbatches any;
  stages 1;
  place s on 0;
  op F forward { cost 2; }
  op W backward weight { cost 2; needs F at here; }
  pair F, W { cost 3; }
  dispatch ready;
}
)"),
                   100)
                .substr(0, 3),
            "299");
}

// All F run one after the other. Beside a W, an F takes 3 instead of 4, since the cost of a pair is
// scaled with the costs of its tasks.
TEST(ProgramBounds, know_that_a_pair_may_make_a_path_shorter) {
  const spec::Program program = compiled_schedule(R"(
pipeline beside {
  microbatches any;
  stages 1;
  place s on 0;
  op F forward sequential { cost 2; }
  op W backward weight { cost 2; needs F at here; }
  pair F, W { cost 2; }
  dispatch ready;
}
)");
  simulate::TimingOptions times;
  times.rank_costs.emplace();
  ASSERT_TRUE(simulate::RankCosts::parse("F=4,B=3,I=1,W=2", *times.rank_costs).ok());
  Bound bound;
  ASSERT_TRUE(lower_bound(program, 100, times, Objective::makespan, bound).ok());
  const simulate::RunReport run = testing_support::TableRun(program).run(100, times);
  const std::int64_t unit = simulate::plain_unit().nanoseconds;
  EXPECT_EQ(run.makespan.count(), 303 * unit);
  EXPECT_LE(bound.value, 303 * unit);
  EXPECT_GT(bound.value, 299 * unit);
}

TEST(ProgramBounds, let_one_message_at_a_time_use_a_link) {
  const spec::Program program = compiled_schedule(R"(
pipeline chain {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { needs F at prev; }
  dispatch ready;
}
)");
  simulate::TimingOptions times = with_latency(3);
  times.bytes_per_second = 1000;  // a unit is a millisecond
  times.message_bytes = 5;
  EXPECT_EQ(bounds(program, 4, times),
            "25 by messages from rank 0 to rank 1 / 4 by work of rank 0, in the span of rank 0");
}

TEST(ProgramBounds, say_why_there_is_none) {
  simulate::TimingOptions drawn;
  ASSERT_TRUE(simulate::Jitter::parse("uniform=0.3", drawn.jitter).ok());
  EXPECT_EQ(bounds(compiled_schedule("1f1b"), 8, drawn),
            "a bound holds for fixed times, and these are drawn: leave out the jitter and the "
            "profile's spreads");
  simulate::TimingOptions slow;  // slows a rank but is not drawn
  ASSERT_TRUE(simulate::Jitter::parse("slow=0:2", slow.jitter).ok());
  EXPECT_NE(bounds(compiled_schedule("1f1b"), 8, slow).find("of rank 0"), std::string::npos);
  EXPECT_EQ(bounds(compiled_schedule("\npipeline p { microbatches 2 .. 4; stages 1; place s on 0; "
                                     "op F forward { } dispatch ready; }\n"),
                   5),
            "the program is not for 5 microbatches");
}

// The bound of a uniform problem's program, in which F acquires memory and I releases a part.
std::int64_t makespan_bound(const testing_support::TinyProblem& p) {
  Bound bound;
  const core::Status status =
      lower_bound(compiled_schedule("\n" + text_of(p)), p.microbatches,
                  with_latency(static_cast<double>(p.latency)), Objective::makespan, bound);
  EXPECT_EQ(status.message(), "");
  const std::int64_t unit = simulate::plain_unit().nanoseconds;
  return (bound.value + unit - 1) / unit;  // rounded up, as an optimum is an integer
}

// The third F needs 11 more of room. One X, with the S and T that follow it, releases 11, so no
// other X or Y need run before the third F. This order takes 1015.
TEST(ProgramBounds, do_not_ask_for_more_releases_than_an_order_needs) {
  const spec::Program program = compiled_schedule(R"(
pipeline releases {
  microbatches 3;
  stages 1;
  place s on 0;
  op F forward  { cost 1; acquires a 12; }
  op X user "x" { cost 10; needs F at here; releases a 1; }
  op Y user "y" { cost 10; needs F at here; releases a 1; }
  op S user "s" { cost 1; needs X at here; releases a 5; }
  op T user "t" { cost 1; needs S at here; releases a 5; }
  op U user "u" once on comm { cost 1000; needs F at here of all; }
  resource a per rank { capacity 25; }
  order o on r { F * 2; X; S; T; F; U; (X S T) * 2; Y * 3; }
  dispatch in order o;
}
)");
  Bound bound;
  ASSERT_TRUE(lower_bound(program, 3, {}, Objective::makespan, bound).ok());
  EXPECT_LE(bound.value, 1015 * simulate::plain_unit().nanoseconds) << bound.by;
}

TEST(ProgramBounds, count_what_capacities_ask_for) {
  struct Known {
    testing_support::TinyProblem problem;
    std::int64_t best, bound;
  };
  const auto bytes = [](int ranks, int microbatches, std::int64_t memory) {
    return testing_support::TinyProblem{.ranks = ranks,
                                        .microbatches = microbatches,
                                        .forward = 24,
                                        .input = 23,
                                        .weight = 12,
                                        .latency = 1,
                                        .memory = memory,
                                        .activation = 100,
                                        .after_input = 43};
  };
  const auto units = [&](bool v, int memory) {
    testing_support::TinyProblem p = bytes(v ? 4 : 8, v ? 8 : 16, memory);
    p.v = v;
    if (v) p.forward = 12, p.input = 11, p.weight = 6;
    p.activation = p.after_input = 1;
    return p;
  };
  // `best` is an optimum in each row but units(true, 5), a V placement with memory for 5.
  const Known known[] = {
      {bytes(4, 12, 400), 117, 117}, {bytes(4, 12, 500), 75, 75},   {bytes(4, 12, 600), 75, 75},
      {bytes(4, 12, 700), 75, 75},   {bytes(4, 12, 800), 75, 75},   {bytes(8, 16, 800), 273, 273},
      {bytes(8, 16, 600), 469, 391}, {bytes(8, 16, 400), 901, 700}, {units(false, 10), 235, 235},
      {units(false, 7), 332, 332},   {units(false, 5), 664, 664},   {units(false, 3), 1468, 1468},
      {units(true, 8), 45, 45},      {units(true, 6), 103, 103},    {units(true, 5), 152, 132},
      {units(true, 4), 211, 161},
  };
  for (const Known& k : known) {
    const testing_support::TinyProblem& p = k.problem;
    const std::int64_t work = (p.v ? 2 : 1) * p.microbatches * (p.forward + p.input + p.weight);
    EXPECT_EQ(makespan_bound(p) - work, k.bound) << p.ranks << " ranks with " << p.memory;
    EXPECT_LE(k.bound, k.best) << p.ranks << " ranks with " << p.memory;
  }
}

class RandomRuns {
 public:
  explicit RandomRuns(std::uint64_t seed) : seed_(seed), random_(seed) {}

  void run_one() {
    const Drawn made = drawn(seed_);
    text_ = made.text;
    spec::Program program = spec::compile({"random.ripe", text_}).value();
    if (!program.unsupported.empty()) return;
    const int count = made.microbatches;
    for (spec::Pair& pair : program.pairs) {
      if (pair.costs.empty() || below(2) == 0) continue;
      for (spec::Rational& cost : pair.costs) cost = {1 + below(20), 1 + below(4)};
    }
    const simulate::TimingOptions& times = made.times;
    for (const Objective objective : {Objective::makespan, Objective::span}) {
      Bound& bound = objective == Objective::makespan ? makespan_ : span_;
      const core::Status status = lower_bound(program, count, times, objective, bound);
      if (status.ok()) continue;
      // If the program has no bound, no run of it may end under any dispatch.
      EXPECT_NE(status.message().find("can never start"), std::string::npos) << status.message();
      bound = {std::numeric_limits<std::int64_t>::max(), status.message()};
    }
    for (const Candidate& candidate : candidates_of(program, false)) {
      // If the program deadlocks, ranks with a forecasting hint may exchange forecasts for ever.
      const auto& patience = candidate.program.dispatch.hint.patience;
      if (!patience || !patience->forecasts) compare(candidate, count, times);
    }
  }

  int runs = 0;
  int exact = 0;  // number of runs that take exactly the bound

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  void compare(const Candidate& candidate, int count, const simulate::TimingOptions& times) {
    const simulate::RunReport run = testing_support::TableRun(candidate.program).run(count, times);
    if (!run.status.ok() || run.stuck) return;
    ++runs;
    const auto says = [&](const Bound& bound) {
      return fmt::format("{} with {} microbatches, seed {}: {}\n{}", candidate.dispatch, count,
                         seed_, bound.by, text_);
    };
    EXPECT_LE(makespan_.value, run.makespan.count()) << says(makespan_);
    EXPECT_LE(span_.value, run.span.count()) << says(span_);
    EXPECT_LE(span_.value, makespan_.value) << says(span_);
    exact += makespan_.value == run.makespan.count() ? 1 : 0;
  }

  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::string text_;
  Bound makespan_;
  Bound span_;
};

TEST(ProgramBounds, are_never_above_a_run_of_a_random_program) {
  const std::uint64_t seed = setting("RIPELINE_SEED", 1);
  const std::uint64_t programs = setting("RIPELINE_CASES", 200);
  std::uint64_t runs = 0;
  std::uint64_t exact = 0;
  for (std::uint64_t i = 0; i < programs && !HasFailure(); ++i) {
    RandomRuns random(seed + i);
    random.run_one();
    runs += static_cast<std::uint64_t>(random.runs);
    exact += static_cast<std::uint64_t>(random.exact);
  }
  RecordProperty("runs", std::to_string(runs));
  RecordProperty("exact", std::to_string(exact));
  EXPECT_GE(runs, programs) << "seed " << seed;
  EXPECT_GE(exact, runs / 10) << "seed " << seed;
}

// Problems whose capacities are in units or in parts, on a chain and on a V placement.
TEST(ProgramBounds, are_never_above_the_optimum_of_a_tiny_problem) {
  const std::uint64_t seed = setting("RIPELINE_SEED", 1);
  const std::uint64_t cases = setting("RIPELINE_CASES", 150);
  std::uint64_t solved = 0;
  std::uint64_t exact = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const testing_support::TinyProblem p = tiny_problem(seed + i);
    const auto optimum = testing_support::least_makespan(p);
    if (!optimum) continue;
    ++solved;
    const std::int64_t bound = makespan_bound(p);
    EXPECT_LE(bound, *optimum) << "seed " << seed + i;
    exact += bound == *optimum ? 1U : 0U;
  }
  RecordProperty("exact", std::to_string(exact));
  EXPECT_GE(solved, cases * 9 / 10) << "seed " << seed;
  EXPECT_GE(exact, solved / 2) << "seed " << seed;
}

}  // namespace
}  // namespace ripeline::optimise
