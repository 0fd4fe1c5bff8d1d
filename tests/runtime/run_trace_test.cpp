// Tests that a run's trace is written during the run: a run that ends well leaves one file, a
// killed run leaves all steps except the last few.
#include "runtime/run_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "runtime/exit_code.h"
#include "runtime/network/local.h"
#include "tests/runtime/ranks.h"
#include "tests/runtime/toy_run.h"
#include "tests/runtime/transports.h"
#include "tests/support/run_of.h"
#include "trace/read.h"

namespace ripeline::runtime {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::ProvedText;
using testing_support::why_no_run;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;
constexpr std::size_t kTasksOfStep = 2 * 8;  // per rank of toy_rank: F and B of 8 microbatches
constexpr auto kLimit = 60s;

template <class Condition>
bool becomes_true(const Condition& condition) {
  const Clock::time_point end = Clock::now() + kLimit;
  while (!condition()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

class RunTraceTest : public testing::Test {
 protected:
  // Starts toy_rank under a launcher with its own process group; returns the launcher's process id.
  pid_t start(const std::string& steps) {
    const pid_t child = fork();
    if (child != 0) return child;
    execl(RIPELINE_PROGRAM, "ripeline", "launch", "-n", "3", "--grace", "5", "--",
          RIPELINE_TOY_RANK, "bf", steps.c_str(), "1", ("--trace=" + trace_).c_str(), nullptr);
    _exit(99);
  }
  static int wait(pid_t child) {
    int status = 0;
    const bool ended = becomes_true([&] { return waitpid(child, &status, WNOHANG) == child; });
    EXPECT_TRUE(ended);
    if (!ended) kill(child, SIGKILL), waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  [[nodiscard]] bool has_grown() const {
    for (int rank = 0; rank < kRanks; ++rank) {
      std::error_code none;
      const auto size = fs::file_size(trace::part_path(folder_, rank), none);
      if (none || size < 20'000) return false;
    }
    return true;
  }
  // The number of tasks of each rank in each step.
  static std::map<int, std::map<std::int64_t, std::size_t>> steps_of(const trace::File& file) {
    std::map<int, std::map<std::int64_t, std::size_t>> steps;
    for (const trace::TaskEvent& e : file.record.tasks) {
      ++steps[file.about.facts().lanes[static_cast<std::size_t>(e.task.lane)].rank][e.step];
    }
    return steps;
  }

  testing_support::TemporaryFolder temporary_;
  std::string trace_ = temporary_.path() + "/run.json";
  std::string folder_ = trace::parts_folder(trace_);
};

TEST_F(RunTraceTest, of_a_run_that_ends_well_is_one_file) {
  std::ofstream(trace_) << "an older one";
  EXPECT_EQ(wait(start("20")), 0);
  auto reading = trace::read(trace_);
  ASSERT_EQ(reading.message(), "");
  trace::File& file = reading.value();
  const ProvedText proved("bf", kRanks);
  EXPECT_EQ(why_no_run(proved.program(), proved.facts(), 8, file.record), "");
  const auto steps = steps_of(file);
  ASSERT_EQ(steps.size(), std::size_t{kRanks});
  for (const auto& [rank, of_rank] : steps) {
    EXPECT_EQ(of_rank.size(), 20U);
    for (const auto& [step, tasks] : of_rank) EXPECT_EQ(tasks, kTasksOfStep) << step;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(temporary_.path()), {}), 1) << "no parts are left";
}

TEST_F(RunTraceTest, of_a_run_that_is_killed_has_its_finished_steps) {
  std::ofstream(trace_) << "an older one";
  const pid_t launcher = start("1000000");
  const bool grown = becomes_true([this] { return has_grown(); });
  kill(launcher, SIGKILL);  // the guard then kills the ranks
  EXPECT_EQ(wait(launcher), -SIGKILL);
  ASSERT_TRUE(grown);
  // The last event of a part may be incomplete, and some rank may not have ended yet.
  auto reading = trace::read(folder_);
  ASSERT_EQ(reading.message(), "");
  trace::File& file = reading.value();
  const auto steps = steps_of(file);
  ASSERT_EQ(steps.size(), std::size_t{kRanks});
  for (const auto& [rank, of_rank] : steps) {
    const std::int64_t last = of_rank.rbegin()->first;
    EXPECT_GE(last, 1);
    for (std::int64_t step = 0; step < last; ++step) {
      EXPECT_EQ(of_rank.at(step), kTasksOfStep) << "rank " << rank << ", step " << step;
    }
  }
  const ProvedText proved("bf", kRanks);
  const validate::RunCheck check = validate::check_run(proved.program(), file, false);
  EXPECT_NE(check.outcome, validate::RunOutcome::refuted)
      << validate::report_text(proved.program(), file, folder_, check);
  EXPECT_GT(check.steps, 0);
  std::ifstream old(trace_);
  std::string text;
  std::getline(old, text);
  EXPECT_EQ(text, "an older one");
}

TEST_F(RunTraceTest, of_a_rank_that_fails_has_what_it_did_until_then) {
  const ProvedText proved("bf", 1);
  const auto transports = network::make_local_group(1);
  runtime::Run run(*transports[0]);
  {
    RunTrace trace(trace_, kLimit);
    ASSERT_EQ(trace.open(proved.facts(), {.microbatches = 2}, run).message(), "");
    trace.record()->task(0, {0, 0}, core::Time{1}, core::Time{2});
    EXPECT_TRUE(trace.step_ended().ok());
    EXPECT_EQ(trace.record()->tasks.size(), 1U) << "the time has not come";
  }
  auto reading = trace::read(folder_);
  ASSERT_EQ(reading.message(), "");
  trace::File& file = reading.value();
  EXPECT_EQ(file.record.tasks.size(), 1U);
}

// The estimate of how far the rank's clock is ahead improves over time.
TEST_F(RunTraceTest, of_a_rank_stays_in_order_whatever_its_clock_turns_out_to_show) {
  const ProvedText proved("bf", 1);
  testing_support::ScriptedTransport transport(0, 1, {});
  runtime::Run run(transport);
  RunTrace trace(trace_, core::Time{0});
  ASSERT_EQ(trace.open(proved.facts(), {.microbatches = 2}, run).message(), "");
  const auto append = [&](std::int64_t start, std::int64_t ahead) {
    transport.clock_ahead = core::Time{ahead};
    trace.record()->task(0, {0, 0}, core::Time{start}, core::Time{start + 100});
    EXPECT_TRUE(trace.step_ended().ok());
  };
  append(1000, 0);
  append(1110, 50);   // shifted by 10 only, to the end of the task before
  append(2000, 50);   // shifted fully, since the gap is large enough
  append(2100, -20);  // a task can always be shifted to a later time
  ASSERT_TRUE(trace.close().ok());
  auto reading = trace::read(folder_);
  ASSERT_EQ(reading.message(), "");
  trace::File& file = reading.value();
  std::vector<std::int64_t> starts;
  for (const trace::TaskEvent& e : file.record.tasks) starts.push_back(e.start.count());
  EXPECT_THAT(starts, testing::ElementsAre(1000, 1100, 1950, 2120));
}

TEST_F(RunTraceTest, holds_few_events_in_memory_however_long_the_run) {
  const ProvedText proved("bf", 1);
  const auto transports = network::make_local_group(1);
  runtime::Run run(*transports[0]);
  RunTrace trace(trace_, kLimit);  // writes only when it has too many events
  ASSERT_TRUE(trace.open(proved.facts(), {.microbatches = 2}, run).ok());
  std::size_t most = 0;
  constexpr std::int64_t kSteps = 30'000;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    trace.record()->task(step, {0, 0}, core::Time{step}, core::Time{step + 1});
    trace.record()->task(step, {1, 0}, core::Time{step + 1}, core::Time{step + 2});
    most = std::max(most, trace.record()->tasks.size());
    ASSERT_TRUE(trace.step_ended().ok());
  }
  EXPECT_LT(most, 20'000U);
  ASSERT_TRUE(trace.close().ok());
  ASSERT_EQ(trace::finish_parts(trace_).message(), "");
  auto reading = trace::read(trace_);
  ASSERT_EQ(reading.message(), "");
  trace::File& file = reading.value();
  EXPECT_EQ(file.record.tasks.size(), std::size_t{2 * kSteps});
}

TEST_F(RunTraceTest, that_cannot_be_written_says_so_once_and_fails_at_the_end) {
  const ProvedText proved("bf", 1);
  const auto transports = network::make_local_group(1);
  runtime::Run run(*transports[0]);
  RunTrace trace(trace_, core::Time{0});
  ASSERT_TRUE(trace.open(proved.facts(), {.microbatches = 2}, run).ok());
  const auto limit_files = [](rlim_t bytes) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  limit_files(100);
  trace.record()->task(0, {0, 0}, core::Time{1}, core::Time{2});
  const core::Status first = trace.step_ended();
  trace.record()->task(1, {0, 0}, core::Time{1}, core::Time{2});
  const core::Status second = trace.step_ended();
  limit_files(RLIM_INFINITY);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(first.message(), folder_ + "/rank-0.json: cannot be written: File too large");
  EXPECT_TRUE(second.ok());
  EXPECT_TRUE(trace.record()->tasks.empty()) << "what cannot be written is not kept";
  EXPECT_EQ(trace.close().message(), first.message());
}

TEST_F(RunTraceTest, begins_anew_what_an_earlier_run_left) {
  fs::create_directory(folder_);
  std::ofstream(trace::part_path(folder_, 7)) << "of a run with more ranks";
  const ProvedText proved("bf", 2);
  const auto transports = network::make_local_group(2);
  testing_support::in_threads(2, [&](int rank) {
    RunTrace trace(trace_);
    runtime::Run run(*transports[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(trace.open(proved.facts(), {.microbatches = 2}, run).message(), "");
    EXPECT_EQ(trace.close().message(), "");
  });
  EXPECT_EQ(trace::finish_parts(trace_).message(), "");
  EXPECT_FALSE(fs::exists(folder_));
}

// All ranks at once remove the parts of an earlier run and make the folder.
TEST_F(RunTraceTest, is_opened_by_all_ranks_at_once) {
  constexpr int kMany = 4;
  const ProvedText proved("bf", kMany);
  for (int i = 0; i < 200; ++i) {
    const auto transports = network::make_local_group(kMany);
    testing_support::in_threads(kMany, [&](int rank) {
      RunTrace trace(trace_);
      runtime::Run run(*transports[static_cast<std::size_t>(rank)]);
      core::Status status = trace.open(proved.facts(), {.microbatches = 2}, run);
      EXPECT_EQ(status.message(), "");
      if (!status.ok()) status = run.fail(status);
    });
  }
}

TEST_F(RunTraceTest, in_a_place_that_is_none_fails_at_once) {
  const ProvedText proved("bf", 1);
  const auto transports = network::make_local_group(1);
  runtime::Run run(*transports[0]);
  RunTrace trace("/dev/null/run.json");
  EXPECT_EQ(trace.open(proved.facts(), {.microbatches = 2}, run).message(),
            "/dev/null/run.json.parts: cannot be made: Not a directory");
}

TEST(ExitCode, tells_apart_what_happened) {
  using core::StatusCode;
  std::map<int, int> codes;
  for (const StatusCode code : {StatusCode::invalid, StatusCode::refused, StatusCode::lost,
                                StatusCode::timeout, StatusCode::breach, StatusCode::failed}) {
    ++codes[exit_code_of(code)];
  }
  EXPECT_EQ(codes.size(), 6U);
  EXPECT_EQ(exit_code_of(StatusCode::ok), 0);
  EXPECT_GT(codes.begin()->first, 2) << "a program's own, and usage";
  EXPECT_LT(codes.rbegin()->first, 64) << "the shell's, and signals";
}

}  // namespace
}  // namespace ripeline::runtime
