// Tests hints with patience: whatever the notices, no slower than a fixed order of equal memory.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

#include "bench/overtaking_bound.h"
#include "bench/race.h"
#include "lower/facts.h"
#include "simulate/table_arbiter.h"
#include "verify/verify.h"

namespace ripeline::simulate {
namespace {

using bench::Field;
using bench::Memory;
using bench::Racer;
using bench::Size;

constexpr double kLatency = 0.05;

const Racer kRacers[] = {
    {Memory::p_minus_s, "FC at the memory of 1F1B", "ready by fc"},
    {Memory::max, "FC with the memory of its fullest rank", "ready by fc"},
    {Memory::eager, "RN at that of eager 1F1B", "ready by rn"},
    {Memory::h1, "RN at that of ZB-H1", "ready by rn"},
    {Memory::h2, "RN at that of ZB-H2", "ready by rn"},
    {Memory::h1, "RN at that of ZB-H1, without learning", "ready by rn", false},
    {Memory::p_minus_s, "FC at that of 1F1B, without learning", "ready by fc", false},
};

TEST(Hints, are_not_slower_than_the_fixed_order_of_their_memory) {
  Field field(Size{}, kLatency, {}, 101);  // these seeds were not used for tuning
  for (const Racer& racer : kRacers) {
    for (const bench::Condition& condition : bench::conditions()) {
      // race() throws if a rank holds more than the racer's class of memory allows.
      const bench::Result result = field.race(racer, condition.jitter, 20);
      EXPECT_GE(result.gain.ratio, 0.999) << racer.name << ", " << condition.name;
      if (racer.memory == Memory::max) continue;
      // If backwards are split, some ranks hold less than with the fixed order; none holds more.
      for (std::size_t rank = 0; rank < result.peaks.size(); ++rank) {
        EXPECT_LE(result.peaks[rank], result.fixed_peaks[rank]) << racer.name;
      }
    }
  }
}

TEST(Hints, are_not_slower_with_several_stages_on_a_rank) {
  simulate::TimingOptions times;
  times.latency = kLatency;
  const Size size{.chunks = 4};
  optimise::Contestant fixed(bench::library_program("interleaved_1f1b", size), size.microbatches);
  spec::Program program =
      bench::library_program("interleaved_1f1b", size, "ready by rn keeping interleaved");
  bench::hold_to(fixed.run(times, 1).peaks, true, program);
  for (const char* jitter : {"uniform=0.3", "J1"}) {
    ASSERT_TRUE(simulate::Jitter::parse(jitter, times.jitter).ok());
    optimise::Contestant hint(program, size.microbatches);
    std::vector<double> logs;
    for (std::uint64_t seed = 101; seed <= 110; ++seed) {
      const optimise::Outcome a = fixed.run(times, seed);
      const optimise::Outcome b = hint.run(times, seed);
      ASSERT_EQ(a.failure + b.failure, "");
      logs.push_back(std::log(a.makespan / b.makespan));
    }
    EXPECT_GE(optimise::gain_of(logs).ratio, 0.999) << jitter;
  }
}

// Messages are late here; docs/results.md has longer runs of this kind.
TEST(Hints, gain_where_messages_are_late) {
  Field field({.microbatches = 192}, kLatency);
  const Racer h1{Memory::h1, "H1", "ready by rn"};
  const Racer h2{Memory::h2, "H2", "ready by rn"};
  EXPECT_GE(field.race(h2, "tails=2:20,fifo", 8).gain.ratio, 1.2);
  EXPECT_GE(field.race(h1, "tails=2:20", 8).gain.ratio, 1.7);
}

TEST(Hints, gain_no_more_than_any_rule_could) {
  Field field({.microbatches = 192}, kLatency);
  const auto time = [&](const char* dispatch, const char* jitter, int seeds) {
    const bench::Result result = field.race({Memory::h2, "H2", dispatch}, jitter, seeds);
    return result.fixed / result.gain.ratio;
  };
  // If nothing is late, the hint rn takes no longer than the bound.
  EXPECT_NEAR(bench::OvertakingBound({.share = 0}, 1).time(1), time("ready by rn", "", 2), 1e-6);
  // The bound is a mean over all draws; on the draws used here the hints take 1 % more.
  const double bound = bench::OvertakingBound({}, 1).time(2000);
  for (const char* dispatch : {"ready by rn", "ready by bfw", "ready by zb_h2"}) {
    EXPECT_GE(time(dispatch, "tails=2:20", 20), 1.005 * bound) << dispatch;
    EXPECT_LE(time(dispatch, "tails=2:20", 20), 1.02 * bound) << dispatch;
  }
}

// For the same program and draws, table arbiters and interpreted arbiters make the same runs.
TEST(Hints, wait_alike_in_both_arbiters) {
  for (const Racer& racer : kRacers) {
    SCOPED_TRACE(racer.name);
    const Size size{.ranks = 3, .microbatches = 6};
    optimise::Contestant table(bench::racing_program(racer, size), size.microbatches);
    const core::OwnedFacts storage = lower::facts_of(table.program());
    Simulator interpreted(storage.facts(), [&](int rank) {
      return std::make_unique<InterpretedArbiter>(table.program(), storage.facts(), rank);
    });
    for (const char* jitter : {"", "lognormal=1", "tails=2:20", "input=0.6"}) {
      TimingOptions options;
      options.latency = kLatency;
      ASSERT_TRUE(Jitter::parse(jitter, options.jitter).ok());
      Timing timing;
      ASSERT_TRUE(Timing::make(table.program(), size.microbatches, options, timing).ok());
      const optimise::Outcome a = table.run(options, 1);
      const RunReport b = interpreted.run(size.microbatches, timing, {});
      EXPECT_TRUE(b.status.ok()) << b.status.message();
      EXPECT_EQ(a.failure, "");
      EXPECT_EQ(a.notices, b.notices);
      EXPECT_EQ(a.makespan, static_cast<double>(b.makespan.count()) / 1e6) << jitter;
    }
  }
}

// An arbiter that passes every call to an honest one; derived classes change some calls.
class Wrapper : public core::Arbiter {
 public:
  explicit Wrapper(std::unique_ptr<core::Arbiter> honest) : honest_(std::move(honest)) {}
  [[nodiscard]] const core::ProgramFacts& facts() const override { return honest_->facts(); }
  [[nodiscard]] int rank() const override { return honest_->rank(); }
  core::Status begin_step(std::int64_t step, int microbatches) override {
    return honest_->begin_step(step, microbatches);
  }
  void on_finished(core::Task task, core::Time now) override { honest_->on_finished(task, now); }
  void on_arrived(core::Message m, core::Time now) override { honest_->on_arrived(m, now); }
  void ready(core::Engine engine, core::TaskSet& out) const override {
    honest_->ready(engine, out);
  }
  core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                      core::Time now) const override {
    return honest_->choose(engine, allowed, now);
  }
  void expect(const core::Costs& costs) override { honest_->expect(costs); }
  void on_notice(const core::Notice& notice, core::Time now) override {
    honest_->on_notice(notice, now);
  }
  void take_notices(core::Time now, std::vector<core::Notice>& out) override {
    honest_->take_notices(now, out);
  }
  void started(core::Task task, core::Time now) override { honest_->started(task, now); }

 protected:
  std::unique_ptr<core::Arbiter> honest_;
};

// An arbiter that loses, doubles and distorts the notices of its rank.
class Liar final : public Wrapper {
 public:
  Liar(std::unique_ptr<core::Arbiter> honest, std::uint64_t seed)
      : Wrapper(std::move(honest)), random_(seed) {}
  core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                      core::Time now) const override {
    const core::Choice choice = honest_->choose(engine, allowed, now);
    EXPECT_EQ(choice, honest_->choose(engine, allowed, now));
    EXPECT_TRUE(choice.kind != core::Choice::Kind::hold || choice.until > now);
    return choice;
  }
  void take_notices(core::Time now, std::vector<core::Notice>& out) override {
    std::vector<core::Notice> said;
    honest_->take_notices(now, said);
    for (core::Notice notice : said) {
      switch (random_() % 5) {
        case 0:
          continue;
        case 1:
          out.push_back(notice);
          break;
        case 2:
          notice.in = core::Time{static_cast<std::int64_t>(random_() % 20'000'000)};
          break;
        case 3:
          notice.count = static_cast<std::int32_t>(random_() % 100) - 50;
          break;
        default:
          break;
      }
      out.push_back(notice);
    }
  }

 private:
  std::mt19937_64 random_;
};

TEST(Hints, whatever_they_are_told_a_run_ends) {
  for (const Racer& racer : kRacers) {
    SCOPED_TRACE(racer.name);
    const Size size{.ranks = 4, .microbatches = 12};
    const spec::Program program = bench::racing_program(racer, size);
    const core::OwnedFacts storage = lower::facts_of(program);
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      Simulator simulator(storage.facts(), [&](int rank) {
        return std::make_unique<Liar>(
            std::make_unique<TableArbiter>(program, storage.facts(), rank),
            seed * 100 + static_cast<std::uint64_t>(rank));
      });
      TimingOptions options;
      options.latency = kLatency;
      options.notice = seed % 3 == 0 ? 30.0 : 0.01;  // some arrive too late to be useful
      options.seed = seed;
      ASSERT_TRUE(Jitter::parse("lognormal=1,tails=5:10", options.jitter).ok());
      Timing timing;
      ASSERT_TRUE(Timing::make(program, size.microbatches, options, timing).ok());
      const RunReport report = simulator.run(size.microbatches, timing, {});
      EXPECT_TRUE(report.status.ok()) << report.status.message();
      EXPECT_FALSE(report.stuck) << report.waiting;
      EXPECT_EQ(report.tasks, static_cast<std::int64_t>(program.lanes.size()) * 12);
    }
  }
}

// Each of two ranks has a forward that lacks only room, and whose input comes from the other rank's
// forward. So each forecast makes the other rank forecast again, for a later time.
constexpr const char* kTalks =
    "pipeline p { microbatches 2; stages 4; place s on s < 2 ? s : 3 - s;\n"
    "op F forward { needs F at prev; acquires a; }\n"
    "op B backward { needs F at here, B at next; releases a; }\n"
    "resource a per rank { capacity 1; }\n"
    "order fixed on r { (F@0 F@1 B@1 B@0) * microbatches; }\n"
    "hint waits { follow fixed; forecasts; }\ndispatch ready by waits; }";

// An arbiter that answers each notice by a notice.
class Talker final : public Wrapper {
 public:
  using Wrapper::Wrapper;
  void on_notice(const core::Notice& notice, core::Time now) override {
    if (++heard_ > 1'000) throw std::runtime_error("its ranks go on talking");
    const bool taken = notice.kind == core::Notice::Kind::taken;
    answers_.push_back({.kind = taken ? core::Notice::Kind::expected : core::Notice::Kind::taken,
                        .message = {notice.message.edge, 0}});
    honest_->on_notice(notice, now);
  }
  void take_notices(core::Time now, std::vector<core::Notice>& out) override {
    honest_->take_notices(now, out);
    out.insert(out.end(), answers_.begin(), answers_.end());
    answers_.clear();
  }

 private:
  int heard_ = 0;
  std::vector<core::Notice> answers_;
};

TEST(Hints, a_run_sticks_though_its_ranks_go_on_talking) {
  const spec::Program program = spec::compile({"talks", kTalks}).value();
  const core::OwnedFacts storage = lower::facts_of(program);
  TimingOptions options;
  options.latency = 2;  // so long that forecasts cross each other on the way
  Timing timing;
  ASSERT_TRUE(Timing::make(program, 2, options, timing).ok());
  for (const bool answers : {false, true}) {
    Simulator simulator(storage.facts(), [&](int rank) -> std::unique_ptr<core::Arbiter> {
      auto honest = std::make_unique<TableArbiter>(program, storage.facts(), rank);
      if (!answers) return honest;
      return std::make_unique<Talker>(std::move(honest));
    });
    const RunReport report = simulator.run(2, timing, {});
    EXPECT_TRUE(report.status.ok()) << report.status.message();
    EXPECT_TRUE(report.stuck);
    EXPECT_EQ(report.tasks, 2);
    EXPECT_NE(report.waiting.find("0F1 waits for room in a of rank 0"), std::string::npos)
        << report.waiting;
  }
}

TEST(Hints, the_same_run_twice_is_the_same) {
  for (const Racer& racer : kRacers) {
    optimise::Contestant contestant(bench::racing_program(racer, Size{}), 32);
    TimingOptions options;
    options.latency = kLatency;
    ASSERT_TRUE(Jitter::parse("lognormal=1", options.jitter).ok());
    const optimise::Outcome a = contestant.run(options, 7);
    // The second run has a contestant of its own, since a contestant remembers what it learned.
    optimise::Contestant again(bench::racing_program(racer, Size{}), 32);
    const optimise::Outcome b = again.run(options, 7);
    EXPECT_EQ(a.failure, "");
    EXPECT_EQ(a.makespan, b.makespan);
    EXPECT_EQ(a.notices, b.notices);
  }
}

// A program that is proved; and one that deadlocks because the two stages of a rank share a pool
// with room for one activation, which early stages take. `%` is replaced by the hint's clauses.
constexpr const char* kSafe =
    "pipeline p { microbatches any; stages 3; place s on s;\n"
    "op F forward { needs F at prev; acquires a; }\n"
    "op I backward input { needs F at here, I at next; }\n"
    "op W backward weight { needs I at here; releases a; }\n"
    "resource a per stage { capacity 3 - s; }\n"
    "order fixed on r { let warm = min(2 - r, microbatches);\n"
    "F * warm; (F I W) * (microbatches - warm); (I W) * warm; }\n"
    "hint waits { follow fixed; fill W; % }\ndispatch ready by waits; }";
constexpr const char* kSticks =
    "pipeline p { microbatches 2; stages 6; place s on s % 3;\n"
    "op F forward { needs F at prev; acquires a; }\n"
    "op B backward { needs F at here, B at next; releases a; }\n"
    "resource a per rank { capacity 1; }\n"
    "order fixed on r { F@0; F@1; B@1; B@0; }\n"
    "hint waits { follow fixed; % }\ndispatch ready by waits; }";

// Waiting changes no verdict: neither a proof, nor a refutation, nor an unknown.
TEST(Hints, waiting_changes_no_verdict) {
  const auto verdict = [](std::string text, const std::string& clauses) {
    text.replace(text.find('%', text.find("hint waits")), 1, clauses);
    return verify::verify(spec::compile({"hints", text}, {}).value());
  };
  for (const char* text : {kSafe, kSticks}) {
    const verify::Verdict without = verdict(text, "");
    EXPECT_EQ(without.outcome == verify::Outcome::proved, text == kSafe);
    for (const char* clauses : {"notices; patience 1.5; yield 0.9;", "forecasts;",
                                "notices; learns;", "forecasts; patience 100; yield 100;"}) {
      SCOPED_TRACE(std::string(text) + " with " + clauses);
      const verify::Verdict with = verdict(text, clauses);
      EXPECT_EQ(without.outcome, with.outcome);
      ASSERT_EQ(without.obligations.size(), with.obligations.size());
      for (std::size_t i = 0; i < with.obligations.size(); ++i) {
        EXPECT_EQ(without.obligations[i].kind, with.obligations[i].kind);
        EXPECT_EQ(without.obligations[i].outcome, with.obligations[i].outcome);
        EXPECT_EQ(without.obligations[i].method, with.obligations[i].method);
      }
    }
  }
}

}  // namespace
}  // namespace ripeline::simulate
