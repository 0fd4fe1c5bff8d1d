#include "runtime/watchdog/last_wait.h"

#include <gtest/gtest.h>

#include "runtime/exit_code.h"

namespace ripeline::runtime::watchdog {
namespace {

using namespace std::chrono_literals;

TEST(LastWait, that_ends_in_time_is_not_noticed) {
  const LastWait last("nothing", 60s);
  SUCCEED();
}

TEST(LastWaitDeathTest, that_takes_too_long_ends_the_process_and_says_what_for) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const LastWait last("the task that runs", 50ms);
        std::this_thread::sleep_for(60s);
      },
      testing::ExitedWithCode(exit_code_of(core::StatusCode::timeout)),
      "ripeline: the task that runs has not ended for 0.05 s: the process ends without it");
}

}  // namespace
}  // namespace ripeline::runtime::watchdog
