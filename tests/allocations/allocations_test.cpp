// Tests that executors, arbiters and the virtual clock allocate nothing between a step's first
// start and its last. These tests are a separate program, which replaces operator new to count.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "one_f_one_b_8.h"
#include "rn_8.h"
#include "tests/simulate/runs.h"

namespace {

std::atomic<std::int64_t> taken{0};

}  // namespace

// Sanitizers replace operator new themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounts = false;
#else
constexpr bool kCounts = true;
// If it were inlined, the compiler would see free() for memory from operator new, and would warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++taken;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
#endif

namespace ripeline::simulate {
namespace {

constexpr int kMicrobatches = 200;

// The allocations counted at the run's first start, and at its last start so far.
struct Span {
  std::int64_t starts = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Wraps an arbiter, and records the number of allocations at each start.
class Noting final : public core::Arbiter {
 public:
  Noting(std::unique_ptr<core::Arbiter> of, Span& span) : of_(std::move(of)), span_(span) {}

  [[nodiscard]] const core::ProgramFacts& facts() const override { return of_->facts(); }
  [[nodiscard]] int rank() const override { return of_->rank(); }
  [[nodiscard]] core::Status begin_step(std::int64_t step, int microbatches) override {
    return of_->begin_step(step, microbatches);
  }
  void on_finished(core::Task task, core::Time now) override { of_->on_finished(task, now); }
  void on_arrived(core::Message m, core::Time now) override { of_->on_arrived(m, now); }
  void on_taken(core::Message m, core::Time now) override { of_->on_taken(m, now); }
  void ready(core::Engine engine, core::TaskSet& out) const override { of_->ready(engine, out); }
  [[nodiscard]] core::Choice choose(core::Engine engine, const core::TaskSet* allowed,
                                    core::Time now) const override {
    return of_->choose(engine, allowed, now);
  }
  [[nodiscard]] core::Task next_in_order(core::Engine engine) const override {
    return of_->next_in_order(engine);
  }
  void expect(const core::Costs& costs) override { of_->expect(costs); }
  void on_notice(const core::Notice& notice, core::Time now) override {
    of_->on_notice(notice, now);
  }
  void take_notices(core::Time now, std::vector<core::Notice>& out) override {
    of_->take_notices(now, out);
  }
  void started(core::Task task, core::Time now) override {
    of_->started(task, now);
    span_.last = taken.load();
    if (span_.starts++ == 0) span_.first = span_.last;
  }

 private:
  std::unique_ptr<core::Arbiter> of_;
  Span& span_;
};

// The fifth run of a simulator: its agenda and lists of commands have grown in the earlier runs.
Span fifth_run(const spec::Program& program, const core::ProgramFacts& facts,
               const Simulator::MakeArbiter& make, const std::string& jitter) {
  TimingOptions options;
  options.latency = 0.05;
  EXPECT_TRUE(Jitter::parse(jitter, options.jitter).ok());
  Timing timing;
  EXPECT_TRUE(Timing::make(program, kMicrobatches, options, timing).ok());
  Span span;
  Simulator simulator(facts, [&](int rank) { return std::make_unique<Noting>(make(rank), span); });
  for (int run = 0; run < 5; ++run) {
    span = {};
    const RunReport report = simulator.run(kMicrobatches, timing, {});
    EXPECT_TRUE(report.status.ok() && !report.stuck) << report.status.message() << report.waiting;
    EXPECT_EQ(span.starts, report.tasks);
  }
  return span;
}

spec::Program program_of(const std::string& schedule, const std::string& dispatch = "") {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", 8}};
  if (!dispatch.empty()) options.dispatch = dispatch;
  return testing_support::compiled_schedule(schedule, options);
}

class Allocations : public testing::Test {
 protected:
  void SetUp() override {
    if (!kCounts) GTEST_SKIP() << "a sanitizer has its own operator new: nothing is counted";
  }
};

TEST_F(Allocations, it_counts) {
  const std::int64_t before = taken.load();
  ::operator delete(::operator new(8));
  EXPECT_EQ(taken.load() - before, 1);
}

TEST_F(Allocations, generated_arbiters_take_none_within_a_step) {
  for (const char* jitter : {"", "uniform=0.3", "tails=2:20"}) {
    SCOPED_TRACE(jitter);
    const Span fixed =
        fifth_run(program_of("1f1b"), one_f_one_b_8::facts, one_f_one_b_8::make_arbiter, jitter);
    EXPECT_EQ(fixed.last - fixed.first, 0);
    const Span waiting =
        fifth_run(program_of("zb_h1", "ready by rn"), rn_8::facts, rn_8::make_arbiter, jitter);
    EXPECT_EQ(waiting.last - waiting.first, 0);
  }
}

TEST_F(Allocations, arbiters_made_at_run_time_take_none_within_a_step) {
  const std::pair<const char*, const char*> dispatches[] = {
      {"1f1b", ""}, {"bf", ""}, {"zb_h2", "ready by fc"}, {"zb_v", "ready by zb_v keeping zb_v"}};
  for (const auto& [schedule, dispatch] : dispatches) {
    SCOPED_TRACE(std::string(schedule) + " " + dispatch);
    const spec::Program program = program_of(schedule, dispatch);
    const core::OwnedFacts storage = lower::facts_of(program);
    const Span span = fifth_run(
        program, storage.facts(),
        [&](int rank) { return std::make_unique<TableArbiter>(program, storage.facts(), rank); },
        "tails=2:20");
    EXPECT_EQ(span.last - span.first, 0);
  }
}

}  // namespace
}  // namespace ripeline::simulate
