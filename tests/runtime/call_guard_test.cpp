#include "runtime/watchdog/call_guard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "runtime/exit_code.h"

namespace ripeline::runtime::watchdog {
namespace {

using namespace std::chrono_literals;

// A fixture whose guards record that they would end the process, instead of ending it.
class CallGuardTest : public testing::Test {
 protected:
  // Waits until the guard would have ended the process; returns the output until then.
  std::string said() {
    ended_.get_future().wait();
    return testing::internal::GetCapturedStderr();
  }
  // Returns the output of one second, in which the process must not end.
  std::string said_until_now() {
    std::this_thread::sleep_for(1s);
    EXPECT_FALSE(has_ended_);
    return testing::internal::GetCapturedStderr();
  }
  void SetUp() override { testing::internal::CaptureStderr(); }

  std::atomic<bool> has_ended_{false};
  std::promise<void> ended_;
  const CallGuard::End end_ = [this] {
    has_ended_ = true;
    ended_.set_value();
  };
};

TEST_F(CallGuardTest, a_call_that_does_not_come_back_ends_the_process_and_is_named) {
  const CallGuard guard("rank 1", {.call = 200ms}, end_);
  const GuardedCall outer("cudaMalloc");
  const GuardedCall call("cudaFree");
  const std::string text = said();
  EXPECT_EQ(text.find("ripeline: rank 1: cudaFree has not come back for 0.2"), 0U) << text;
  EXPECT_NE(text.find(" s: the process ends without it\n"), std::string::npos) << text;
}

TEST_F(CallGuardTest, of_one_in_another_the_outer_one_counts_when_the_inner_one_is_back) {
  const CallGuard guard("rank 1", {.call = 200ms}, end_);
  const GuardedTask task("2F0");
  const GuardedCall outer("cudaMalloc");
  { const GuardedCall call("cudaFree"); }
  const std::string text = said();
  EXPECT_EQ(text.find("ripeline: rank 1, 2F0: cudaMalloc has not come back for 0.2"), 0U) << text;
}

TEST_F(CallGuardTest, calls_that_come_back_are_not_noticed_however_many_there_are) {
  const CallGuard guard("rank 1", {.call = 500ms}, end_);
  for (int i = 0; i < 20; ++i) {
    const GuardedCall call("cudaEventQuery");
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_FALSE(has_ended_);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(CallGuardTest, what_is_no_call_may_take_as_long_as_it_likes) {
  const CallGuard guard("rank 1", {.call = 100ms}, end_);
  { const GuardedCall call("cudaEventQuery"); }
  EXPECT_EQ(said_until_now(), "");
}

TEST_F(CallGuardTest, a_thread_that_runs_tasks_is_named_first_and_has_time_for_an_orderly_end) {
  const CallGuard guard("rank 1", {.call = 200ms, .orderly = 600ms}, end_);
  std::promise<void> back;
  std::thread thread([threads = guarded_threads(), &back] {
    join_guarded_threads(threads);
    const GuardedTask task("1F3");
    const GuardedCall call("cudaEventRecord");
    back.get_future().wait();
  });
  const std::string text = said();
  EXPECT_EQ(text.find("ripeline: rank 1, 1F3: cudaEventRecord has not come back for 0.2"), 0U);
  const std::size_t second = text.find("ripeline: rank 1, 1F3: cudaEventRecord", 1);
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_LT(text.find('\n'), second);
  EXPECT_GT(text.find(": the process ends without it\n"), second) << "at first it does not";
  back.set_value();
  thread.join();
}

TEST_F(CallGuardTest, other_threads_are_not_watched_and_one_that_has_ended_no_longer) {
  const CallGuard guard("rank 1", {.call = 100ms, .orderly = 0s}, end_);
  std::promise<void> back;
  std::thread other([&back] {
    const GuardedCall call("cudaFree");
    back.get_future().wait();
  });
  std::thread([threads = guarded_threads()] {
    join_guarded_threads(threads);
    const GuardedCall call("cudaMalloc");
  }).join();
  EXPECT_EQ(said_until_now(), "");
  back.set_value();
  other.join();
}

TEST(CallGuardDeathTest, the_exit_code_is_that_of_a_time_out) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const CallGuard guard("rank 1", {.call = 50ms});
        const GuardedCall call("cudaFree");
        std::this_thread::sleep_for(60s);
      },
      testing::ExitedWithCode(exit_code_of(core::StatusCode::timeout)),
      "ripeline: rank 1: cudaFree has not come back for .* s: the process ends without it");
}

}  // namespace
}  // namespace ripeline::runtime::watchdog
