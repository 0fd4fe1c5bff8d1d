// Tests operations that all processes of a run perform together, over each of the transports.
#include "runtime/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "tests/runtime/each_transport.h"
#include "tests/runtime/transports.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using testing::HasSubstr;
using testing_support::bytes;
using testing_support::expect_ok;
using testing_support::in_threads;
using namespace std::chrono_literals;

class RunTest : public testing_support::EachTransport {
 protected:
  // Runs `body` for all processes, each in a thread; a process's transport ends with the thread.
  void run(int processes, const std::function<void(runtime::Run&)>& body,
           std::chrono::nanoseconds silence = 60s) {
    make(processes);
    in_threads(processes, [&](int self) {
      {
        runtime::Run run(of(self), {.limits = {.stall = silence}});
        body(run);
      }
      drop(self);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(each, RunTest, testing_support::each_transport(),
                         testing_support::transport_name);

TEST_P(RunTest, gathers_by_process_again_and_again) {
  for (const int processes : {1, 2, 3, 5}) {
    run(processes, [&](runtime::Run& run) {
      EXPECT_EQ(run.processes(), processes);
      for (int call = 0; call < 50; ++call) {
        std::vector<Blob> all;
        const std::string suffix = "/" + std::to_string(call);
        expect_ok(run.gather("call" + suffix, bytes(std::to_string(run.self()) + suffix), all));
        std::vector<Blob> wanted;
        for (int p = 0; p < processes; ++p) wanted.push_back(bytes(std::to_string(p) + suffix));
        EXPECT_EQ(all, wanted);
      }
      expect_ok(run.finish(60s));
    });
  }
}

TEST_P(RunTest, gathers_what_is_long_and_what_is_nothing) {
  run(3, [](runtime::Run& run) {
    const auto mine = [](int self) {
      return Blob(self == 1 ? 0 : std::size_t{3} << 20, static_cast<std::byte>(self));
    };
    std::vector<Blob> all;
    expect_ok(run.gather("long", mine(run.self()), all));
    ASSERT_EQ(all.size(), 3U);
    for (const int p : {0, 1, 2}) EXPECT_TRUE(all[static_cast<std::size_t>(p)] == mine(p)) << p;
    expect_ok(run.finish(60s));
  });
}

TEST_P(RunTest, goes_on_while_a_process_waits_in_its_own_way) {
  // The waiting thread continues after the run, and ends later.
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  run(2, [&](runtime::Run& run) {
    // Process 1 fails long before the wait of process 0 ends; process 0 learns this while it waits.
    if (run.self() == 1) {
      expect_ok(run.run_beside([] { return Status(); }));
      EXPECT_THAT(run.fail({StatusCode::failed, "its disk is full"}).message(),
                  HasSubstr("rank 1 failed: its disk is full"));
      return;
    }
    const Status status = run.run_beside([is_over] {
      for (int i = 0; i < 6000 && !*is_over; ++i) std::this_thread::sleep_for(10ms);
      return Status();
    });
    EXPECT_THAT(status.message(), HasSubstr("rank 1 failed: its disk is full"));
  });
  *is_over = true;
}

TEST_P(RunTest, fails_with_a_wait_of_its_own) {
  run(2, [](runtime::Run& run) {
    std::vector<Blob> all;
    const Status status = run.self() == 0 ? run.gather("the groups", {}, all) : run.run_beside([] {
      return Status(StatusCode::failed, "it cannot connect");
    });
    EXPECT_TRUE(status.message().starts_with("rank 1 failed: it cannot connect"))
        << status.message();
  });
}

// A difference is noticed at once, before any limit is reached.
TEST_P(RunTest, names_gathers_that_differ_everywhere) {
  run(3, [](runtime::Run& run) {
    std::vector<Blob> all;
    const Status status = run.gather(run.self() == 2 ? "checkpoint/120" : "summary", {}, all);
    EXPECT_EQ(status.code(), StatusCode::refused);
    EXPECT_THAT(status.message(),
                HasSubstr("rank 2 gathers 'checkpoint/120', rank 0 gathers 'summary': all ranks "
                          "must gather the same, in the same order"));
  });
}

// A run has a transport between devices either in all processes or in none.
TEST_P(RunTest, refuses_words_for_a_device_that_is_not_there) {
  make(2);
  in_threads(2, [this](int self) {
    {
      const Envelope envelope{.signal = signals::Carrier{}};
      if (self == 1) expect_ok(of(1).send(0, envelope, payload_of(bytes("a word"))));
      runtime::Run run(of(self));
      std::vector<Blob> all;
      const Status status = run.gather("summary", {}, all);
      EXPECT_THAT(status.message(), HasSubstr("rank 1 has a device, and rank 0 has none"));
    }
    drop(self);
  });
}

TEST_P(RunTest, names_the_cause_of_a_process_that_stops) {
  run(3, [](runtime::Run& run) {
    std::vector<Blob> all;
    if (run.self() == 2) {
      const Status why{StatusCode::failed, "2F0 failed: no memory"};
      const Status status = run.fail(why);
      EXPECT_THAT(status.message(), testing::StartsWith("rank 2 failed: 2F0 failed: no memory"));
      EXPECT_EQ(run.gather("more", {}, all).message(), status.message()) << "it has stopped itself";
      return;
    }
    const Status status = run.gather("summary", {}, all);
    EXPECT_EQ(status.code(), StatusCode::failed);
    EXPECT_THAT(status.message(), testing::StartsWith("rank 2 failed: 2F0 failed: no memory"));
  });
}

TEST_P(RunTest, names_a_process_that_was_lost_and_fails_ever_after) {
  run(3, [](runtime::Run& run) {
    if (run.self() == 1) return;  // its transport ends
    std::vector<Blob> all;
    const Status status = run.gather("summary", {}, all);
    EXPECT_EQ(status.code(), StatusCode::lost);
    EXPECT_THAT(status.message(), testing::StartsWith("rank 1 was lost ("));
    EXPECT_EQ(run.gather("summary", {}, all).message(), status.message());
    EXPECT_EQ(run.finish(60s).message(), status.message());
    EXPECT_EQ(run.fail({StatusCode::failed, "another"}).message(), status.message());
  });
}

// Process 2 learns of the loss first from process 1, which then ends as well.
TEST_P(RunTest, names_the_cause_and_not_the_messenger) {
  make(3);
  drop(0);
  std::vector<Blob> all;
  {
    runtime::Run second(of(1), {.limits = {.stall = 60s}});
    EXPECT_THAT(second.gather("summary", {}, all).message(), HasSubstr("rank 0 was lost"));
  }
  drop(1);
  runtime::Run third(of(2), {.limits = {.stall = 60s}});
  EXPECT_THAT(third.gather("summary", {}, all).message(), HasSubstr("rank 0 was lost"));
}

TEST_P(RunTest, limits_the_wait_for_a_gather) {
  make(2);
  runtime::Run first(of(0), {.limits = {.stall = 50ms}});
  std::vector<Blob> all;
  const Status gathered = first.gather("summary", {}, all);
  EXPECT_EQ(gathered.code(), StatusCode::timeout);
  EXPECT_THAT(gathered.message(), HasSubstr("rank 0 saw nothing happen for 0.05 s"));
  runtime::Run second(of(1), {.limits = {.stall = 60s}});
  const Status other = second.gather("summary", {}, all);
  EXPECT_EQ(other.code(), StatusCode::timeout);
  EXPECT_THAT(other.message(), HasSubstr("rank 0: the gather waits for rank 1"));
}

// finish() returns only when all processes have called it.
TEST_P(RunTest, ends_for_all_at_once) {
  std::atomic<int> arrived = 0;
  run(3, [&](runtime::Run& run) {
    if (run.self() == 1) std::this_thread::sleep_for(50ms);
    ++arrived;
    expect_ok(run.finish(60s));
    EXPECT_EQ(arrived, 3);
  });
}

// A message of the program that arrives before its rank exists is stored. The rank later refuses it
// if the sender is not the producer of the message's edge (tests/runtime/rank_test.cpp).
TEST_P(RunTest, gathers_while_messages_of_the_program_come) {
  run(2, [&](runtime::Run& run) {
    if (run.self() == 1) {
      for (int m = 0; m < 10; ++m) {
        expect_ok(of(1).send(0, {signals::Data{{0, {0, m}}}}, payload_of(bytes("early"))));
      }
    }
    std::vector<Blob> all;
    expect_ok(run.gather("summary", bytes(std::to_string(run.self())), all));
    EXPECT_EQ(all, (std::vector{bytes("0"), bytes("1")}));
    expect_ok(run.finish(60s));
  });
}

}  // namespace
}  // namespace ripeline::runtime
