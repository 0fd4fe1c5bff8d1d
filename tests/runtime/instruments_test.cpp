// Tests instruments that the environment requests: traces, injected delays, and refusals.
#include "runtime/instruments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/network/local.h"
#include "runtime/run.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/toy_run.h"
#include "trace/read.h"

namespace ripeline::runtime::instruments_test {
namespace {

namespace fs = std::filesystem;
using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::ProvedText;
using namespace std::chrono_literals;

constexpr int kRanks = 3;
constexpr int kSteps = 4;

// Runs ranks in the way of a program that creates its own ranks.
class Ranks {
 public:
  // With `spoil`, the last rank fails after its last step.
  std::vector<Status> run(const Instruments& instruments, bool spoil = false) {
    std::vector<Status> statuses(kRanks);
    auto group = network::make_local_group(kRanks);
    testing_support::in_threads(kRanks, [&](int r) {
      auto& transport = group[static_cast<std::size_t>(r)];
      statuses[static_cast<std::size_t>(r)] = run_rank(r, *transport, instruments, spoil);
      transport.reset();
    });
    return statuses;
  }
  [[nodiscard]] const ProvedText& proved() const { return proved_; }

 private:
  Status run_rank(int r, Transport& transport, const Instruments& instruments, bool spoil) {
    simulate::InterpretedArbiter arbiter(proved_.program(), proved_.facts(), r);
    ToyWork work(model_);
    Run run(transport);
    protocol::RankOptions options;
    BeforeTask before_task;
    if (Status s = install(instruments, arbiter.facts(), run, options, before_task); !s.ok()) {
      return run.fail(std::move(s));
    }
    InlineEngine engine(work, before_task);
    protocol::Rank rank(arbiter, run.layout(), r, options);
    for (int step = 0; step < kSteps; ++step) {
      if (Status s = run.step(rank, engine, step, 4); !s.ok()) return s;
    }
    if (spoil && r == kRanks - 1) return run.fail({StatusCode::failed, "spoilt"});
    return run.finish(10s);
  }

  ProvedText proved_{"bf", kRanks};
  ToyModel model_{.stages = kRanks, .width = 2, .seed = 7};
};

TEST(Instruments, are_those_of_the_environment) {
  ::setenv("RIPELINE_TRACE", "t.json", 1);
  ::setenv("RIPELINE_DELAY", "message=1,seed=3", 1);
  EXPECT_EQ(instruments_of_environment(),
            (Instruments{.trace = "t.json", .delay = "message=1,seed=3"}));
  ::unsetenv("RIPELINE_TRACE");
  ::unsetenv("RIPELINE_DELAY");
  EXPECT_EQ(instruments_of_environment(), Instruments());
}

TEST(Instruments, make_one_trace_of_all_ranks_with_the_delays) {
  const testing_support::TemporaryFolder folder;
  const std::string path = folder.path() + "/run.json";
  Ranks ranks;
  const std::vector<Status> statuses =
      ranks.run({.trace = path, .delay = "compute=F:2,message=3", .delay_seed = 9});
  for (const Status& status : statuses) ASSERT_EQ(status.message(), "");
  EXPECT_FALSE(fs::exists(path + ".parts"));
  auto reading = trace::read(path);
  ASSERT_EQ(reading.message(), "");
  trace::File& file = reading.value();
  EXPECT_EQ(file.record.tasks.size(), std::size_t{kSteps * kRanks * 2 * 4});
  EXPECT_EQ(file.record.messages.size(), std::size_t{kSteps * 2 * (kRanks - 1) * 4});
  for (const auto& message : file.record.messages) EXPECT_GE(message.arrived - message.sent, 3ms);
  EXPECT_EQ(file.about.run.microbatches, 4);
  EXPECT_EQ(file.about.run.seed, std::uint64_t{9});
  EXPECT_THAT(file.about.run.costs, HasSubstr("compute=F:2,message=3"));
}

TEST(Instruments, leave_the_parts_of_a_run_that_fails) {
  const testing_support::TemporaryFolder folder;
  const std::string path = folder.path() + "/run.json";
  Ranks ranks;
  testing::internal::CaptureStderr();
  for (const Status& status : ranks.run({.trace = path, .delay = {}}, true)) {
    EXPECT_THAT(status.message(), HasSubstr("spoilt"));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("what ran until then: ripeline show " + path + ".parts"));
  EXPECT_FALSE(fs::exists(path));
  auto reading = trace::read(path + ".parts");
  ASSERT_EQ(reading.message(), "");
  trace::File& file = reading.value();
  EXPECT_GT(file.record.tasks.size(), std::size_t{(kSteps - 1) * kRanks * 2 * 4})
      << "what the last rank does at once, others may not have ended";
}

TEST(Instruments, that_cannot_be_are_refused_with_what_is_expected) {
  const ProvedText proved("bf", kRanks);
  const auto says = [&](const Instruments& instruments) {
    return check(instruments, {&proved.facts()}).message();
  };
  EXPECT_EQ(says({}), "");
  EXPECT_EQ(says({.trace = {}, .delay = "compute=F"}),
            "delay 'compute=F': expected compute=OP:MS, as in compute=F:4");
  EXPECT_EQ(says({.trace = {}, .delay = "compute=G:1"}),
            "delay 'compute=G': no op is called 'G'; ops here: F, B");
  EXPECT_THAT(says({.trace = "/nowhere/t.json", .delay = {}}),
              HasSubstr("/nowhere/t.json: cannot be written"));
  ::setenv("RIPELINE_DELAY", "rare=1", 1);
  EXPECT_THAT(check_instruments_of_environment(proved.facts()).message(),
              HasSubstr("RIPELINE_DELAY: delay 'rare=1': expected rare=PERCENT:MS"));
  ::unsetenv("RIPELINE_DELAY");
  ::setenv("RIPELINE_TRACE", "/nowhere/t.json", 1);
  EXPECT_THAT(check_instruments_of_environment(proved.facts()).message(),
              HasSubstr("RIPELINE_TRACE: /nowhere/t.json: cannot be written"));
  ::unsetenv("RIPELINE_TRACE");
}

TEST(Instruments, go_beside_no_others) {
  const testing_support::TemporaryFolder folder;
  const ProvedText proved("bf", 1);
  auto group = network::make_local_group(1);
  runtime::Run run(*group[0]);
  trace::Record own;
  protocol::RankOptions options;
  BeforeTask before_task;
  options.trace = &own;
  const Instruments trace{.trace = folder.path() + "/t.json", .delay = {}};
  EXPECT_THAT(install(trace, proved.facts(), run, options, before_task).message(),
              HasSubstr("the program records a trace of its own"));
  options.trace = nullptr;
  EXPECT_EQ(install(trace, proved.facts(), run, options, before_task).message(), "");
  options.trace = nullptr;
  EXPECT_THAT(install(trace, proved.facts(), run, options, before_task).message(),
              HasSubstr("a trace is of one program, and two of this run would write it"));
  int called = 0;
  before_task = [&called](const TaskInfo&) { ++called; };
  EXPECT_EQ(
      install({.trace = {}, .delay = "compute=F:0"}, proved.facts(), run, options, before_task)
          .message(),
      "");
  before_task({.op = "F", .task = {0, 0}});
  EXPECT_EQ(called, 1) << "what the program has before a task stays";
  EXPECT_THAT(
      install({.trace = {}, .delay = "message=1"}, proved.facts(), run, options, before_task)
          .message(),
      HasSubstr("the program has delays of its own"));
  EXPECT_EQ(run.finish(1s).message(), "");
}

}  // namespace
}  // namespace ripeline::runtime::instruments_test
