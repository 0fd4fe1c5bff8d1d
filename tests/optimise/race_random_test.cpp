// Tests races of random programs with random jitters. No pick may be slower than its baseline by
// more than its confidence interval, measured on seeds that the race has not used; and dropping
// losers early may not change the pick.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "optimise/racing/race.h"
#include "spec/elaborate.h"
#include "tests/optimise/problems.h"

namespace ripeline::optimise {
namespace {

// The logarithms of the makespans for many seeds, all far from the seeds of the race.
std::vector<double> logs_of(const spec::Program& program, int microbatches,
                            const simulate::TimingOptions& times) {
  Contestant contestant(program, microbatches);
  std::vector<double> logs;
  for (std::uint64_t seed = 1'000'000; seed < 1'000'060; ++seed) {
    const Outcome outcome = contestant.run(times, seed);
    EXPECT_EQ(outcome.end, End::ended) << outcome.failure;
    logs.push_back(std::log(outcome.makespan));
  }
  return logs;
}

// A program for a race, and the times under which it runs.
struct Contest {
  spec::Program program;
  int microbatches = 1;
  simulate::TimingOptions times;
};
Contest drawn_contest(std::uint64_t seed) {
  const Drawn made = drawn(seed);
  std::mt19937_64 random(seed);
  const char* const jitters[] = {"uniform=0.3", "lognormal=0.5", "tails=5:10", "tails=10:5,fifo",
                                 "exponential=1"};
  Contest contest{spec::compile({"random.ripe", made.text}).value(), made.microbatches, made.times};
  EXPECT_TRUE(simulate::Jitter::parse(jitters[random() % 5], contest.times.jitter).ok());
  contest.program.microbatches = {.min = made.microbatches, .max = made.microbatches};
  return contest;
}

TEST(RaceRandom, no_pick_is_slower_than_its_baseline) {
  const std::uint64_t seed = setting("RIPELINE_SEED", 1);
  const std::uint64_t cases = setting("RIPELINE_CASES", 200);
  std::uint64_t raced = 0;
  std::uint64_t picked = 0;
  std::uint64_t slower = 0;
  for (std::uint64_t i = 0; i < cases && !HasFailure(); ++i) {
    const auto [program, microbatches, times] = drawn_contest(seed + i);
    RaceResult result;
    // A race fails if the program's own dispatch is not proved.
    if (!race(program, microbatches, times, {.seeds = 8}, result).ok()) continue;
    ++raced;
    if (!result.pick) continue;
    ++picked;
    const auto baseline = logs_of(result.trials.front().candidate.program, microbatches, times);
    const auto pick = logs_of(result.trials[*result.pick].candidate.program, microbatches, times);
    std::vector<double> ratios;
    for (std::size_t k = 0; k < pick.size(); ++k) ratios.push_back(baseline[k] - pick[k]);
    slower += gain_of(ratios).high < 1 ? 1U : 0U;
  }
  RecordProperty("raced", std::to_string(raced));
  RecordProperty("picked", std::to_string(picked));
  EXPECT_GE(raced, cases / 10) << "seed " << seed;
  // By chance, one 95 % interval in forty lies entirely below the true ratio.
  EXPECT_LE(slower, picked / 40) << "of " << picked << ", seed " << seed;
}

TEST(RaceRandom, dropping_losers_picks_the_same) {
  const std::uint64_t seed = setting("RIPELINE_SEED", 1);
  const std::uint64_t cases = setting("RIPELINE_CASES", 200);
  std::uint64_t picked = 0;
  std::uint64_t dropped = 0;
  for (std::uint64_t i = 0; i < cases && !HasFailure(); ++i) {
    SCOPED_TRACE(seed + i);
    const auto [program, microbatches, times] = drawn_contest(seed + i);
    const auto raced = [&, p = &program, count = microbatches, t = &times](bool drops,
                                                                           RaceResult& result) {
      RaceOptions options{.seeds = 40, .drops = drops};
      if (i % 3 == 0) options.measure.percentile = 75;
      return race(*p, count, *t, options, result).ok();
    };
    RaceResult early;
    RaceResult all;
    ASSERT_EQ(raced(true, early), raced(false, all));
    ASSERT_EQ(early.pick.has_value(), all.pick.has_value());
    for (const Trial& trial : early.trials) dropped += trial.dropped ? 1U : 0U;
    if (!all.pick) continue;
    ++picked;
    const Candidate& one = early.trials[*early.pick].candidate;
    const Candidate& other = all.trials[*all.pick].candidate;
    EXPECT_EQ(one.dispatch, other.dispatch);
    EXPECT_EQ(one.pyramid, other.pyramid);
    EXPECT_EQ(early.measured.ratio, all.measured.ratio);
  }
  RecordProperty("picked", std::to_string(picked));
  RecordProperty("dropped", std::to_string(dropped));
  EXPECT_GE(dropped, cases / 20) << "seed " << seed;
}

}  // namespace
}  // namespace ripeline::optimise
