// Hints that wait: never slower than the fixed order of the same memory, whatever they are told.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "bench/hints.h"
#include "verify/verify.h"

namespace ripeline::simulate {
namespace {

using bench::Memory;
using bench::Outcome;
using bench::Policy;
using bench::Size;

constexpr double kLatency = 0.05;
constexpr const char* kRn = "notices; patience 1.5; yield 0.9;";
constexpr const char* kFc = "forecasts; patience 1.5; yield 0.9;";

struct Race {
  const char* name;
  Memory fixed;
  Memory memory;
  const char* clauses;
};

constexpr Race kRaces[] = {
    {"FC at the memory of 1F1B", Memory::p_minus_s, Memory::p_minus_s, kFc},
    {"FC with the memory of its fullest rank", Memory::p_minus_s, Memory::max, kFc},
    {"RN at that of eager 1F1B", Memory::eager, Memory::eager, kRn},
    {"RN at that of ZB-H1", Memory::h1, Memory::h1, kRn},
    {"RN at that of ZB-H2", Memory::h2, Memory::h2, kRn},
};

TEST(Hints, are_not_slower_than_the_fixed_order_of_their_memory) {
  constexpr int kSeeds = 20;
  for (const Race& race : kRaces) {
    Policy fixed(race.fixed, Size{}, "in order fixed", "");
    Policy hint(race.memory, Size{}, "ready by waits", race.clauses);
    for (const bench::Condition& condition : bench::conditions()) {
      SCOPED_TRACE(std::string(race.name) + ", " + condition.name);
      double sum = 0;
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Outcome a = fixed.run(condition.jitter, seed, kLatency);
        const Outcome b = hint.run(condition.jitter, seed, kLatency);
        ASSERT_EQ(a.failure + b.failure, "");
        // A rank has room for what the fixed order holds there; `max` for what its fullest one
        // does.
        const std::int64_t most = *std::max_element(a.peaks.begin(), a.peaks.end());
        for (std::size_t rank = 0; rank < a.peaks.size(); ++rank) {
          EXPECT_LE(b.peaks[rank], race.memory == Memory::max ? most : a.peaks[rank]);
        }
        sum += std::log(a.makespan / b.makespan);
      }
      EXPECT_GE(std::exp(sum / kSeeds), 0.999);
    }
  }
}

// Of the same program with the same random draws: arbiters made at run time and interpreted ones.
TEST(Hints, wait_alike_in_both_arbiters) {
  for (const Race& race : kRaces) {
    SCOPED_TRACE(race.name);
    const Size size{.ranks = 3, .microbatches = 6};
    Policy table(race.memory, size, "ready by waits", race.clauses);
    const FactsStorage storage(table.program(), {});
    Simulator interpreted(storage.facts(), [&](int rank) {
      return std::make_unique<InterpretedArbiter>(table.program(), storage.facts(), rank);
    });
    for (const char* jitter : {"", "lognormal=1", "tails=2:20", "input=0.6"}) {
      TimingOptions options;
      options.latency = kLatency;
      ASSERT_TRUE(Jitter::parse(jitter, options.jitter).ok());
      Timing timing;
      ASSERT_TRUE(Timing::make(table.program(), size.microbatches, options, timing).ok());
      const Outcome a = table.run(jitter, 1, kLatency);
      const RunReport b = interpreted.run(size.microbatches, timing, {});
      EXPECT_TRUE(b.status.ok()) << b.status.message();
      EXPECT_EQ(a.failure, "");
      EXPECT_EQ(a.notices, b.notices);
      EXPECT_EQ(a.makespan, static_cast<double>(b.makespan.count()) / 1e6) << jitter;
    }
  }
}

// Loses, doubles and distorts what its rank says.
class Liar final : public core::Arbiter {
 public:
  Liar(std::unique_ptr<core::Arbiter> honest, std::uint64_t seed)
      : honest_(std::move(honest)), random_(seed) {}
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
    const core::Choice choice = honest_->choose(engine, allowed, now);
    EXPECT_EQ(choice, honest_->choose(engine, allowed, now));
    EXPECT_TRUE(choice.kind != core::Choice::Kind::hold || choice.until > now);
    return choice;
  }
  void expect(const core::Costs& costs) override { honest_->expect(costs); }
  void on_notice(const core::Notice& notice, core::Time now) override {
    honest_->on_notice(notice, now);
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
  void started(core::Task task, core::Time now) override { honest_->started(task, now); }

 private:
  std::unique_ptr<core::Arbiter> honest_;
  mutable std::mt19937_64 random_;
};

TEST(Hints, whatever_they_are_told_a_run_ends) {
  for (const Race& race : kRaces) {
    SCOPED_TRACE(race.name);
    const Size size{.ranks = 4, .microbatches = 12};
    const Policy policy(race.memory, size, "ready by waits", race.clauses);
    const spec::Program& program = policy.program();
    const FactsStorage storage(program, {});
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      Simulator simulator(storage.facts(), [&](int rank) {
        return std::make_unique<Liar>(
            std::make_unique<TableArbiter>(program, storage.facts(), rank),
            seed * 100 + static_cast<std::uint64_t>(rank));
      });
      TimingOptions options;
      options.latency = kLatency;
      options.notice = seed % 3 == 0 ? 30.0 : 0.01;  // some come long after they are of use
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

TEST(Hints, the_same_run_twice_is_the_same) {
  Policy policy(Memory::p_minus_s, Size{}, "ready by waits", kFc);
  const Outcome a = policy.run("lognormal=1", 7, kLatency);
  const Outcome b = policy.run("lognormal=1", 7, kLatency);
  EXPECT_EQ(a.makespan, b.makespan);
  EXPECT_EQ(a.notices, b.notices);
}

// No verdict depends on whether a hint waits: proved, refuted and unknown alike.
TEST(Hints, waiting_changes_no_verdict) {
  const auto verdict = [](const std::string& text) {
    return verify::verify(spec::compile({"hints", text}, {}).value());
  };
  int proved = 0;
  int others = 0;
  for (const Race& race : kRaces) {
    for (const bool shared : {false, true}) {
      const Size size{.ranks = 3, .microbatches = 6};
      std::string without = bench::program_text(race.memory, size, "ready by waits", "");
      std::string with = bench::program_text(race.memory, size, "ready by waits", race.clauses);
      for (std::string* text : {&without, &with}) {
        if (!shared) continue;
        // Two stages on each rank in one pool with room for one: early stages take it all.
        text->replace(text->find("stages ranks"), 12, "stages 2 * ranks");
        text->replace(text->find("place s on s"), 12, "place s on s % ranks");
        text->replace(text->find("per stage { capacity "), 21, "per rank { capacity 1 + 0 * ");
        text->replace(text->find("microbatches any"), 16, "microbatches 2");
        const std::size_t order = text->find("  order fixed");
        text->replace(
            order, text->find("  hint bf") - order,
            "  order fixed on r { F@0; F@1; " +
                std::string(bench::is_split(race.memory) ? "I@1; W@1; I@0; W@0;" : "B@1; B@0;") +
                " }\n");
        const std::size_t capacity = text->find("capacity 1");
        text->replace(capacity, text->find(';', capacity) - capacity, "capacity 1");
      }
      const verify::Verdict a = verdict(without);
      const verify::Verdict b = verdict(with);
      EXPECT_EQ(a.outcome, b.outcome) << with;
      ASSERT_EQ(a.obligations.size(), b.obligations.size());
      for (std::size_t i = 0; i < a.obligations.size(); ++i) {
        EXPECT_EQ(a.obligations[i].name, b.obligations[i].name);
        EXPECT_EQ(a.obligations[i].outcome, b.obligations[i].outcome);
        EXPECT_EQ(a.obligations[i].method, b.obligations[i].method);
      }
      (a.outcome == verify::Outcome::proved ? proved : others) += 1;
    }
  }
  EXPECT_GT(proved, 0);
  EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace ripeline::simulate
