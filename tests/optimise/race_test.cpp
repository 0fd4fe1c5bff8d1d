// Tests which dispatch a race picks, and which dispatches it must not pick.
#include "optimise/racing/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/simulate/runs.h"

namespace ripeline::optimise {
namespace {

using simulate::Jitter;
using simulate::Timing;
using simulate::TimingOptions;

TimingOptions times_of(const std::string& jitter) {
  TimingOptions options;
  options.latency = 0.05;
  EXPECT_TRUE(Jitter::parse(jitter, options.jitter).ok());
  return options;
}

RaceResult raced(const std::string& schedule, const std::string& jitter,
                 const RaceOptions& options = {.seeds = 10}) {
  spec::ElaborateOptions elaborate;
  elaborate.defines = {{"ranks", 4}};
  RaceResult result;
  const core::Status status = race(testing_support::compiled_schedule(schedule, elaborate), 16,
                                   times_of(jitter), options, result);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

TEST(Race, takes_a_hint_where_messages_are_late_and_says_by_how_much) {
  const RaceResult result = raced("zb_h2", "tails=2:20");
  ASSERT_TRUE(result.pick.has_value());
  const Trial& pick = result.trials[*result.pick];
  EXPECT_EQ(result.trials.front().candidate.dispatch, "in order zb_h2");
  EXPECT_EQ(result.trials.front().gain.ratio, 1);
  EXPECT_FALSE(pick.candidate.program.dispatch.in_order);
  EXPECT_EQ(pick.verdict, verify::Outcome::proved);
  EXPECT_GT(result.measured.low, 1);
  EXPECT_LE(result.measured.low, result.measured.ratio);
  EXPECT_LE(result.measured.ratio, result.measured.high);
  EXPECT_EQ(result.measured.runs, 10);
  for (std::size_t i = 0; i < pick.peaks.size(); ++i) {
    EXPECT_LE(pick.peaks[i], result.trials.front().peaks[i]);
  }
  // The pick is measured on the seeds that follow those by which it was chosen.
  Contestant fixed(result.trials.front().candidate.program, 16);
  Contestant hint(pick.candidate.program, 16);
  const TimingOptions times = times_of("tails=2:20");
  std::vector<double> logs;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    logs.push_back(std::log(fixed.run(times, seed).makespan / hint.run(times, seed).makespan));
  }
  EXPECT_NEAR(gain_of(std::span(logs).subspan(10)).ratio, result.measured.ratio, 1e-9);
}

// On a V placement the order fills its memory, so a safe hint must keep room for that order.
TEST(Race, keeps_room_for_the_order_with_several_stages_on_a_rank) {
  const RaceResult result = raced("zb_v", "tails=2:20");
  ASSERT_TRUE(result.pick.has_value());
  const Trial& pick = result.trials[*result.pick];
  EXPECT_NE(pick.candidate.dispatch.find(" keeping zb_v"), std::string::npos);
  EXPECT_GT(result.measured.low, 1.1);
  for (const Trial& trial : result.trials) {
    const spec::Dispatch& dispatch = trial.candidate.program.dispatch;
    const bool safe = dispatch.in_order || dispatch.keeps >= 0;
    EXPECT_EQ(trial.verdict == verify::Outcome::proved, safe) << trial.candidate.dispatch;
    if (!safe) continue;
    EXPECT_EQ(trial.peaks, result.trials.front().peaks) << trial.candidate.dispatch;
  }
}

TEST(Race, keeps_the_order_where_nothing_is_faster) {
  const RaceResult result = raced("1f1b", "");
  EXPECT_FALSE(result.pick.has_value());
  for (const Trial& trial : result.trials) EXPECT_LE(trial.gain.ratio, 1 + 1e-12);
}

TEST(Race, drops_losers_and_picks_the_same) {
  std::map<std::uint64_t, verify::Outcome> known;
  const Judge judge = [&](const spec::Program& program) {
    const auto [at, is_new] = known.try_emplace(program.hash);
    if (is_new) at->second = verify::verify(program).outcome;
    return at->second;
  };
  const struct {
    const char* schedule;
    const char* jitter;
    std::optional<int> percentile;
  } rows[] = {
      {"1f1b", "lognormal=1", {}}, {"1f1b", "input=0.6", {}},    {"zb_h1", "uniform=0.3", {}},
      {"zb_h1", "tails=2:20", 75}, {"zb_h2", "uniform=0.3", 75}, {"zb_h2", "lognormal=1", {}},
      {"zb_h2", "tails=2:20", {}}, {"zb_v", "tails=2:20", {}},   {"zb_v", "exponential=1", {}}};
  std::size_t dropped = 0;
  for (const auto& [schedule, jitter, percentile] : rows) {
    SCOPED_TRACE(std::string(schedule) + ", " + jitter);
    RaceOptions options{.seeds = 64, .judge = judge};
    options.measure.percentile = percentile;
    const RaceResult early = raced(schedule, jitter, options);
    options.drops = false;
    const RaceResult all = raced(schedule, jitter, options);
    ASSERT_EQ(early.pick.has_value(), all.pick.has_value());
    if (all.pick) {
      EXPECT_EQ(early.trials[*early.pick].candidate.dispatch,
                all.trials[*all.pick].candidate.dispatch);
      EXPECT_EQ(early.measured.ratio, all.measured.ratio);
    }
    bool after_all = false;
    for (const Trial& trial : early.trials) {
      if (trial.end != End::ended) continue;
      EXPECT_EQ(trial.gain.runs, trial.dropped.value_or(64)) << trial.candidate.dispatch;
      EXPECT_TRUE(trial.dropped || !after_all) << trial.candidate.dispatch;
      after_all = after_all || trial.dropped;
      const int looks[] = {8, 16, 20, 32, 40};
      if (!trial.dropped) continue;
      EXPECT_EQ(std::count(std::begin(looks), std::end(looks), *trial.dropped), 1);
      ++dropped;
    }
    for (const Trial& trial : all.trials) EXPECT_FALSE(trial.dropped);
  }
  EXPECT_GE(dropped, 20U);
}

TEST(Race, by_a_percentile_compares_that) {
  const RaceResult result =
      raced("zb_h2", "tails=2:20", {.seeds = 50, .measure = {.percentile = 90}});
  ASSERT_TRUE(result.pick.has_value());
  Contestant fixed(result.trials.front().candidate.program, 16);
  Contestant hint(result.trials[*result.pick].candidate.program, 16);
  const TimingOptions times = times_of("tails=2:20");
  std::vector<double> a;
  std::vector<double> b;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    a.push_back(std::log(fixed.run(times, seed).makespan));
    b.push_back(std::log(hint.run(times, seed).makespan));
  }
  const Gain gain = gain_over(std::span(a).subspan(50), std::span(b).subspan(50), result.measure);
  EXPECT_EQ(gain.ratio, result.measured.ratio);
  EXPECT_EQ(gain.low, result.measured.low);
  a.resize(50);
  EXPECT_EQ(std::exp(Estimator(result.measure, 50).of(a)), result.trials.front().time);
}

TEST(Race, a_percentile_needs_times_that_vary_and_seeds) {
  RaceResult result;
  const spec::Program program = testing_support::compiled_schedule("1f1b");
  const auto said = [&](const std::string& jitter, int seeds, int percentile) {
    return race(program, 8, times_of(jitter),
                {.seeds = seeds, .measure = {.percentile = percentile}}, result)
        .message();
  };
  EXPECT_EQ(said("uniform=0.3", 49, 90),
            "the 90th percentile needs at least 50 seeds, so that five are on either side of it: "
            "found 49");
  EXPECT_EQ(said("uniform=0.3", 50, 90), "");
  EXPECT_EQ(said("", 50, 90),
            "the 90th percentile of times that do not vary: expected --jitter, or a profile with "
            "spreads");
}

// With known costs, the order of the inputs matters more than the dispatch.
TEST(Race, sorts_inputs_whose_costs_are_known) {
  const RaceResult result = raced("1f1b", "input=0.6");
  ASSERT_TRUE(result.pick.has_value());
  EXPECT_TRUE(result.trials[*result.pick].candidate.pyramid);
  EXPECT_GT(result.measured.ratio, 1.2);
  EXPECT_FALSE(raced("1f1b", "uniform=0.3").trials.back().candidate.pyramid);
}

// Two stages share a pool without `leaving`. The order is safe, but readiness-first may deadlock.
constexpr const char* kOnlyInOrder = R"(pipeline p {
  microbatches any;
  stages 4;
  place s on s % 2;
  op F forward { needs F at prev; acquires a; }
  op B backward { needs F at here, B at next; releases a; }
  resource a per rank { capacity 2; }
  order one on r { (F@0 F@1 B@1 B@0) * microbatches; }
  hint loose { prefer F, B; }
  dispatch in order one;
})";
// The hint may hold more than the order does, since the pool has no capacity.
constexpr const char* kHoldsMore = R"(pipeline p {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { needs F at prev; acquires a; }
  op B backward { cost 2; needs F at here, B at next; releases a; }
  resource a per stage { }
  order one on r { (F B) * microbatches; }
  hint greedy { prefer F, B; }
  dispatch in order one;
})";

TEST(Race, picks_nothing_that_is_not_proved_or_holds_more) {
  for (const auto& [text, why] :
       {std::pair(kOnlyInOrder, "not proved"), std::pair(kHoldsMore, "holds more")}) {
    SCOPED_TRACE(text);
    RaceResult result;
    ASSERT_TRUE(race(spec::compile({"p", text}, {}).value(), 6, times_of("uniform=0.3"),
                     {.seeds = 5}, result)
                    .ok());
    int excluded = 0;
    for (const Trial& trial : result.trials) {
      const bool hint = trial.candidate.dispatch.starts_with("ready by");
      if (!trial.excluded || !trial.excluded->starts_with(why)) continue;
      EXPECT_TRUE(hint);
      ++excluded;
    }
    EXPECT_GT(excluded, 0);
    if (!result.pick) continue;
    EXPECT_EQ(result.trials[*result.pick].excluded, std::nullopt);
  }
}

// In the order, rank 0 runs all X first and rank 1 waits; the hints run X later. Sometimes a second
// F reaches rank 1 before the first F has ended there; then `greedy` holds two activations.
constexpr const char* kSlow = R"(pipeline p {
  microbatches any;
  stages 2;
  place s on s;
  op F forward { cost s == 0 ? 1.4 : 1; needs F at prev; acquires a; }
  op B backward { needs F at here, B at next; releases a; }
  op X { cost 2; }
  resource a per stage { }
  order one on r {
    X * (r == 0 ? microbatches : 0);
    F * (r == 0 ? microbatches : 0);
    B * (r == 0 ? microbatches : 0);
    (F B) * (r == 1 ? microbatches : 0);
    X * (r == 1 ? microbatches : 0);
  }
  hint greedy { prefer F, B, X; }
  hint steady { prefer B, F, X; }
  dispatch in order one;
})";

RaceResult slow_raced(std::uint64_t seed, int seeds) {
  TimingOptions times;
  EXPECT_TRUE(Jitter::parse("uniform=0.3", times.jitter).ok());
  times.seed = seed;
  RaceResult result;
  EXPECT_TRUE(
      race(spec::compile({"p", kSlow}, {}).value(), 2, times, {.seeds = seeds}, result).ok());
  return result;
}

TEST(Race, passes_over_what_is_fastest_but_not_beyond_doubt) {
  const RaceResult result = slow_raced(6, 2);
  ASSERT_TRUE(result.pick.has_value());
  const Trial& fastest = *std::find_if(result.trials.begin() + 1, result.trials.end(),
                                       [](const Trial& t) { return !t.excluded; });
  EXPECT_LE(fastest.gain.low, 1);
  const Trial& pick = result.trials[*result.pick];
  EXPECT_LT(pick.gain.ratio, fastest.gain.ratio);
  EXPECT_GT(pick.gain.low, 1);
  EXPECT_GT(result.measured.low, 1);
}

// A candidate may hold more on the seeds that measure the pick than on the seeds that choose it.
TEST(Race, passes_over_what_holds_more_on_the_seeds_that_measure) {
  const RaceResult result = slow_raced(11, 3);
  const Trial& greedy = result.trials[1];
  EXPECT_EQ(greedy.candidate.dispatch, "ready by greedy");
  EXPECT_EQ(greedy.peaks, result.trials.front().peaks);
  EXPECT_EQ(greedy.excluded, "holds more: 2 of a of stage 1, not 1 on seeds 14 to 16");
  ASSERT_TRUE(result.pick.has_value());
  EXPECT_EQ(result.trials[*result.pick].candidate.dispatch, "ready by steady");
}

// The race drops `ready by one` for greedy. When greedy is excluded, `ready by one` gets all seeds.
TEST(Race, what_was_dropped_for_one_that_may_not_be_picked_meets_all_seeds) {
  std::string text = kSlow;
  text.replace(text.find("1.4"), 3, "2.3");
  const spec::Program program = spec::compile({"p", text}, {}).value();
  TimingOptions times;
  ASSERT_TRUE(Jitter::parse("uniform=0.3", times.jitter).ok());
  times.seed = 25;
  const auto logs_of = [&](const std::string& dispatch) {
    spec::ElaborateOptions options;
    options.dispatch = dispatch;
    Contestant contestant(spec::compile({"p", text}, options).value(), 2);
    std::vector<double> logs;
    for (std::uint64_t seed = 25; seed < 33; ++seed) {
      logs.push_back(std::log(contestant.run(times, seed).makespan));
    }
    return logs;
  };
  RaceResult result;
  ASSERT_TRUE(race(program, 2, times, {.seeds = 9}, result).ok());
  const std::vector<double> after_eight = logs_of("ready by one");
  EXPECT_LT(doubt_that_slower(after_eight, logs_of("ready by greedy"), {}),
            .001 / static_cast<double>(result.trials.size() - 1));
  const auto of = [&](const char* dispatch) {
    return *std::find_if(result.trials.begin(), result.trials.end(),
                         [&](const Trial& t) { return t.candidate.dispatch == dispatch; });
  };
  EXPECT_EQ(of("ready by greedy").excluded,
            "holds more: 2 of a of stage 1, not 1 on seeds 34 to 42");
  EXPECT_EQ(of("ready by one").dropped, std::nullopt);
  EXPECT_EQ(of("ready by one").gain.runs, 9);
  ASSERT_TRUE(result.pick.has_value());
  EXPECT_EQ(result.trials[*result.pick].candidate.dispatch, "ready by steady");
}

// A failed trial has both its verdict and the way in which it failed.
TEST(Race, a_trial_that_fails_keeps_its_verdict_and_says_how) {
  RaceResult result;
  const spec::Program program = spec::compile({"p", kOnlyInOrder}, {}).value();
  ASSERT_TRUE(race(program, 6, times_of("uniform=0.3"), {.seeds = 5}, result).ok());
  const Trial& loose = result.trials.back();  // failed trials are last
  EXPECT_EQ(loose.end, End::stuck);
  EXPECT_EQ(loose.verdict, verify::Outcome::refuted);
  const std::string excluded = loose.excluded.value_or("");
  EXPECT_EQ(excluded.find("not proved; does not end: deadlock: "), 0U) << excluded;
  EXPECT_NE(excluded.find("(seed 1)"), std::string::npos) << excluded;
  EXPECT_EQ(result.trials.front().end, End::ended);
}

TEST(Contestant, says_how_a_run_ended) {
  const auto end = [](const TimingOptions& times, const char* text) {
    Contestant contestant(spec::compile({"p", text}, {}).value(), 6);
    const Outcome outcome = contestant.run(times, 1);
    EXPECT_EQ(outcome.failure.empty(), outcome.end == End::ended) << outcome.failure;
    return outcome.end;
  };
  EXPECT_EQ(end({}, kOnlyInOrder), End::ended);
  std::string loose = kOnlyInOrder;
  loose.replace(loose.rfind("in order one"), 12, "ready by loose");
  EXPECT_EQ(end({}, loose.c_str()), End::stuck);
  TimingOptions few;
  few.profile.emplace();
  few.profile->unit = simulate::plain_unit();
  few.profile->inputs = {1, 2};
  EXPECT_EQ(end(few, kOnlyInOrder), End::refused);
}

TEST(Race, says_what_it_cannot_compare_with) {
  RaceResult result;
  const core::Status none =
      race(testing_support::compiled_schedule("bf"), 8, times_of(""), {.seeds = 5}, result);
  EXPECT_FALSE(none.ok());
  EXPECT_NE(none.message().find("nothing but its own dispatch can be tried"), std::string::npos)
      << none.message();
  const core::Status meets = race(testing_support::compiled_schedule(R"(
pipeline meets {
  microbatches 1..8;
  stages 2;
  place s on s;
  op F forward  { needs F at prev via rendezvous; }
  op B backward { needs F at here, B at next via rendezvous; }
  order o on r { F * microbatches; B * microbatches; }
  hint h { follow o; }
  dispatch in order o;
}
)"),
                                  8, times_of(""), {.seeds = 5}, result);
  EXPECT_EQ(meets.message(),
            "meets: nothing but its own dispatch can be tried: no hint is tried: its links meet "
            "(rendezvous)");
  TimingOptions nothing;
  nothing.profile.emplace();
  nothing.profile->unit = simulate::plain_unit();
  nothing.profile->inputs = std::vector<double>(8, 0);
  const core::Status still =
      race(testing_support::compiled_schedule("1f1b"), 8, nothing, {.seeds = 5}, result);
  EXPECT_FALSE(still.ok());
  EXPECT_NE(still.message().find("nothing takes time"), std::string::npos) << still.message();
}

TEST(Race, stops_when_it_is_told_to) {
  for (const int runs : {0, 3, 7, 12, 30}) {  // stops in the first trial, a later one, or the pick
    RaceResult result;
    int asked = 0;
    const core::Status status =
        race(testing_support::compiled_schedule("zb_h2"), 16, times_of("tails=2:20"),
             {.seeds = 5, .go_on = [&] { return ++asked <= runs; }}, result);
    EXPECT_FALSE(status.ok()) << runs;
    EXPECT_NE(status.message().find("stopped before all were compared"), std::string::npos)
        << status.message();
    EXPECT_LE(asked, runs + 3);
    EXPECT_FALSE(result.pick) << runs;
  }
}

// Whatever kind the program's own dispatch is, the race keeps it unless another one is faster.
TEST(Race, compares_with_the_program_s_own_dispatch) {
  for (const spec::LibraryEntry& entry : spec::library()) {
    SCOPED_TRACE(entry.name);
    const spec::Program program = testing_support::compiled_schedule(std::string(entry.name));
    std::set<std::pair<std::string, bool>> names;
    const std::vector<Candidate> candidates = candidates_of(program, true);
    for (const Candidate& c : candidates) {
      EXPECT_TRUE(names.emplace(c.dispatch, c.pyramid).second) << c.dispatch;
    }
    const Candidate& own = candidates.front();
    EXPECT_EQ(own.program.hash, program.hash);
    EXPECT_EQ(own.hint, "");
    EXPECT_FALSE(own.pyramid);
    spec::ElaborateOptions options;
    options.dispatch = own.dispatch;
    const auto again = testing_support::compiled_schedule(std::string(entry.name), options);
    EXPECT_EQ(again.hash, program.hash) << own.dispatch;
  }
  RaceResult result;
  ASSERT_TRUE(race(testing_support::compiled_schedule("hanayo"), 8, times_of("lognormal=0.5"),
                   {.seeds = 3}, result)
                  .ok());
  EXPECT_EQ(result.trials.front().candidate.dispatch, "ready by oldest");
  for (const Trial& trial : result.trials) {
    EXPECT_EQ(trial.excluded, std::nullopt) << trial.candidate.dispatch;
    if (trial.candidate.dispatch != "in order oldest") continue;
    EXPECT_LT(trial.gain.ratio, 0.5);
  }
  spec::ElaborateOptions ready;
  ready.dispatch = "ready";
  const spec::Program ties = testing_support::compiled_schedule("1f1b", ready);
  EXPECT_EQ(candidates_of(ties, false).front().dispatch, "ready");
}

TEST(Race, begins_at_the_seed_given) {
  TimingOptions times = times_of("tails=2:20");
  times.seed = 101;
  spec::ElaborateOptions elaborate;
  elaborate.defines = {{"ranks", 4}};
  const spec::Program program = testing_support::compiled_schedule("zb_h2", elaborate);
  RaceResult result;
  ASSERT_TRUE(race(program, 16, times, {.seeds = 10}, result).ok());
  EXPECT_EQ(result.seed, 101U);
  ASSERT_TRUE(result.pick.has_value());
  Contestant fixed(program, 16);
  Contestant hint(result.trials[*result.pick].candidate.program, 16);
  std::vector<double> logs;
  for (std::uint64_t seed = 101; seed <= 120; ++seed) {
    logs.push_back(std::log(fixed.run(times, seed).makespan / hint.run(times, seed).makespan));
  }
  const std::span all(logs);
  EXPECT_NEAR(gain_of(all.first(10)).ratio, result.trials[*result.pick].gain.ratio, 1e-9);
  EXPECT_NEAR(gain_of(all.subspan(10)).ratio, result.measured.ratio, 1e-9);
}

TEST(Race, asks_once_for_both_orders_of_inputs) {
  int asked = 0;
  const Judge judge = [&](const spec::Program& program) {
    EXPECT_EQ(program.inputs, spec::InputOrder::natural);
    ++asked;
    return program.dispatch.in_order ? verify::Outcome::proved : verify::Outcome::unknown;
  };
  RaceResult result;
  ASSERT_TRUE(race(testing_support::compiled_schedule("1f1b"), 8, times_of("input=0.6"),
                   {.seeds = 3, .judge = judge}, result)
                  .ok());
  EXPECT_EQ(static_cast<std::size_t>(2 * asked), result.trials.size());
  for (const Trial& trial : result.trials) {
    const bool in_order = trial.candidate.program.dispatch.in_order;
    EXPECT_EQ(trial.verdict, in_order ? verify::Outcome::proved : verify::Outcome::unknown);
    EXPECT_EQ(trial.excluded.value_or("").starts_with("not proved"), !in_order);
  }
}

// An order from a file is tried only if it was read; the race makes no hint that waits for a file.
TEST(Race, follows_an_order_from_a_file_where_it_is_read) {
  const auto tried = [](const std::string& dispatch, RaceResult& result) {
    spec::ElaborateOptions options;
    options.dispatch = dispatch;
    options.read_file = [](const std::string&) {
      return std::string("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    };
    const std::string text = R"(
pipeline p {
  microbatches 2;
  stages 2;
  place s on s;
  op F forward { needs F at prev; }
  op B backward { needs F at here, B at next; }
  order file from csv "two.csv";
  hint waits { follow file; notices; }
  hint bf { rounds B, F; }
  dispatch ready by bf;
})";
    const spec::Program program = testing_support::compiled_schedule(text, options);
    EXPECT_TRUE(race(program, 2, times_of("uniform=0.3"), {.seeds = 3}, result).ok());
    std::vector<std::string> names;
    for (const Candidate& c : candidates_of(program, false)) names.push_back(c.dispatch);
    return names;
  };
  RaceResult read;
  EXPECT_EQ(tried("in order file", read),
            (std::vector<std::string>{"in order file", "ready by bf", "ready by file"}));
  ASSERT_EQ(read.notes.size(), 1U);
  EXPECT_EQ(read.notes.front(), "no hint waits for order file, which is from a file");
  for (const Trial& trial : read.trials) EXPECT_EQ(trial.verdict, verify::Outcome::proved);
  RaceResult unread;
  EXPECT_EQ(tried("ready", unread), (std::vector<std::string>{"ready", "ready by bf"}));
  ASSERT_EQ(unread.notes.size(), 1U);
  EXPECT_EQ(unread.notes.front().find("order file is not tried: "), 0U);
}

// The hint that a race suggests in its text is the hint that ran.
TEST(Race, what_it_says_to_write_is_the_program_that_ran) {
  const std::string source = *spec::library_text("1f1b");
  const auto program = spec::compile({"1f1b", source}, {});
  int written = 0;
  for (const Candidate& candidate : candidates_of(program.value(), true)) {
    std::string text = source;
    text.insert(text.rfind('}'), candidate.hint + (candidate.pyramid ? " inputs pyramid;" : ""));
    spec::ElaborateOptions options;
    options.dispatch = candidate.dispatch;
    const auto again = spec::compile({"1f1b", text}, options);
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(again.value().inputs, candidate.program.inputs);
    EXPECT_EQ(again.value().dispatch.in_order, candidate.program.dispatch.in_order);
    const spec::Hint& a = again.value().dispatch.hint;
    const spec::Hint& b = candidate.program.dispatch.hint;
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.fill, b.fill);
    EXPECT_EQ(a.order, b.order);
    EXPECT_EQ(a.patience, b.patience) << candidate.hint;
    ++written;
  }
  EXPECT_GT(written, 10);
}

// A run uses the permuted inputs: each task takes the time of the input that it gets.
TEST(Timing, of_a_pyramid_follows_the_inputs) {
  spec::Program program = testing_support::compiled_schedule("1f1b");
  TimingOptions options;
  options.profile.emplace();
  options.profile->unit = simulate::plain_unit();
  options.profile->inputs = {4, 1, 3, 2};
  Timing natural;
  ASSERT_TRUE(Timing::make(program, 4, options, natural).ok());
  program.inputs = spec::InputOrder::pyramid;
  Timing pyramid;
  ASSERT_TRUE(Timing::make(program, 4, options, pyramid).ok());
  const int inputs[] = {1, 2, 0, 3};  // costs 1, 3, 4, 2
  for (int m = 0; m < 4; ++m) {
    EXPECT_EQ(natural.input(m), m);
    EXPECT_EQ(pyramid.input(m), inputs[m]);
    for (int lane = 0; lane < static_cast<int>(program.lanes.size()); ++lane) {
      EXPECT_EQ(pyramid.task({lane, m}), natural.task({lane, inputs[m]}));
      EXPECT_EQ(pyramid.costs().of({lane, m}), natural.costs().of({lane, inputs[m]}));
    }
  }
  // Wrong estimates may change the order of inputs, but each task takes the true time of its input.
  ASSERT_TRUE(Jitter::parse("estimate=3", options.jitter).ok());
  bool differs = false;
  for (options.seed = 1; options.seed <= 20; ++options.seed) {
    Timing wrong;
    ASSERT_TRUE(Timing::make(program, 4, options, wrong).ok());
    std::vector<bool> seen(4);
    for (int m = 0; m < 4; ++m) {
      seen[static_cast<std::size_t>(wrong.input(m))] = true;
      differs = differs || wrong.input(m) != inputs[m];
      EXPECT_EQ(wrong.task({0, m}), natural.task({0, wrong.input(m)}));
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 4);
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace ripeline::optimise
