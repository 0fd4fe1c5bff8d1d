// Tests that SIGTERM fails a run whose program requests this; an earlier failure is still reported.
#include "runtime/termination.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "runtime/exit_code.h"
#include "runtime/network/local.h"
#include "runtime/network/ucx.h"
#include "runtime/run.h"
#include "tests/runtime/each_transport.h"
#include "tests/runtime/launched.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

using testing_support::becomes_true;
using namespace std::chrono_literals;

// Calls `run` in a child, since signals affect a whole process; returns its exit code or -signal.
int in_process(const std::function<int()>& run) {
  const pid_t pid = fork();
  if (pid == 0) _exit(run());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void tell_to_end() { kill(getpid(), SIGTERM); }

TEST(Termination, is_requested_by_the_signal_and_calls_once) {
  EXPECT_EQ(in_process([] {
              Termination termination;
              std::atomic<int> calls = 0;
              termination.call_when_requested([&] { ++calls; });
              if (termination.requested() || calls != 0) return 1;
              tell_to_end();
              tell_to_end();  // counts as the same request
              if (!becomes_true([&] { return calls == 1; })) return 2;
              termination.call_when_requested(nullptr);
              bool is_called_late = false;
              termination.call_when_requested([&] { is_called_late = true; });
              return termination.requested() && calls == 1 && is_called_late ? 0 : 3;
            }),
            0);
}

TEST(Termination, ends_the_process_when_asked_again) {
  EXPECT_EQ(in_process([] {
              Termination termination;
              for (;;) {
                tell_to_end();
                std::this_thread::sleep_for(1200ms);
              }
              return 0;
            }),
            -SIGTERM);
}

TEST(Termination, leaves_the_signal_as_it_was) {
  EXPECT_EQ(in_process([] {
              std::signal(SIGTERM, SIG_IGN);
              {
                const Termination ignored;
                tell_to_end();
                if (ignored.requested()) return 1;
              }
              tell_to_end();  // the signal is still ignored
              std::signal(SIGTERM, SIG_DFL);
              { const Termination over; }
              tell_to_end();
              return 2;
            }),
            -SIGTERM);
}

TEST(Termination, is_not_requested_by_a_signal_to_a_child) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer keeps the signal from who was forked beside a thread";
#endif
  EXPECT_EQ(in_process([] {
              const Termination termination;
              if (in_process([] {
                    tell_to_end();
                    return 1;
                  }) != -SIGTERM)
                return 1;
              return termination.requested() ? 2 : 0;
            }),
            0);
}

TEST(Termination, has_an_exit_code_of_its_own) {
  EXPECT_EQ(in_process([] {
              Termination termination;
              const Status failed(StatusCode::timeout, "");
              if (termination.exit_code_of(failed) != exit_code_of(StatusCode::timeout)) return 1;
              tell_to_end();
              if (!becomes_true([&] { return termination.requested(); })) return 2;
              if (termination.exit_code_of({}) != 0) return 3;
              return termination.exit_code_of(failed) == 128 + SIGTERM ? 0 : 4;
            }),
            0);
}

// Runs ranks 0 and 1 as threads of one process; signals to this process are for rank 1.
int gather_until_told(const std::function<void(Run&, const Termination&)>& other, Status& first,
                      Status& second) {
  Termination termination;
  auto transports = network::make_local_group(2);
  testing_support::in_threads(2, [&](int rank) {
    Run run(*transports[static_cast<std::size_t>(rank)],
            {.termination = rank == 1 ? &termination : nullptr});
    std::vector<Blob> all;
    if (rank == 0) other(run, termination);
    (rank == 0 ? first : second) = run.gather("all", {}, all);
  });
  return termination.requested() ? 0 : 1;
}

TEST(Termination, fails_the_run_and_is_told_to_the_others) {
  EXPECT_EQ(in_process([] {
              Status first;
              Status second;
              const auto tell = [](runtime::Run&, const Termination& termination) {
                tell_to_end();
                becomes_true([&] { return termination.requested(); });
              };
              if (gather_until_told(tell, first, second) != 0) return 1;
              const std::string said = "rank 1 was told to end by SIGTERM";
              if (!first.message().starts_with(said)) return 2;
              if (!second.message().starts_with(said)) return 3;
              return first.code() == StatusCode::lost && second.code() == StatusCode::lost ? 0 : 4;
            }),
            0);
}

// If a failure precedes the signal, that failure is reported.
TEST(Termination, does_not_hide_what_failed_before) {
  EXPECT_EQ(in_process([] {
              Status first;
              Status second;
              const auto fail = [](runtime::Run& run, const Termination&) {
                (void)run.fail({StatusCode::failed, "the disk is full"});
                tell_to_end();
              };
              (void)gather_until_told(fail, first, second);
              return second.message().starts_with("rank 0 failed: the disk is full") ? 0 : 1;
            }),
            0);
}

std::vector<std::unique_ptr<Transport>> two_of(const std::string& name, const std::string& folder) {
  if (name == "local") return network::make_local_group(2);
  testing_support::prepare(name);
  std::vector<std::unique_ptr<Transport>> two(2);
  testing_support::in_threads(2, [&](int rank) {
    (void)testing_support::connect(name, rank, 2, folder, {}, two[static_cast<std::size_t>(rank)]);
  });
  return two;
}

class TerminationTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(each, TerminationTest, testing_support::each_transport(),
                         testing_support::transport_name);

// All messages have arrived except the goodbyes of the other ranks.
TEST_P(TerminationTest, ends_the_wait_for_the_others_at_the_end) {
  if (GetParam().starts_with("ucx") && !network::has_ucx()) GTEST_SKIP() << "built without UCX";
  EXPECT_EQ(in_process([] {
              const testing_support::TemporaryFolder folder;
              Termination termination;
              const auto two = two_of(GetParam(), folder.path());
              if (!two[0] || !two[1]) return 1;
              Status status;
              std::atomic<bool> is_over = false;
              testing_support::in_threads(2, [&](int rank) {
                runtime::Run run(*two[static_cast<std::size_t>(rank)],
                                 {.termination = rank == 1 ? &termination : nullptr});
                if (rank == 1) {
                  status = run.finish(20s);
                  is_over = true;
                  return;
                }
                std::vector<Blob> all;
                (void)run.gather("the end of the run", {}, all);
                std::this_thread::sleep_for(100ms);  // until the other rank also has all blobs
                tell_to_end();
                becomes_true([&] { return is_over.load(); });
              });
              return status.message().starts_with("rank 1 was told to end by SIGTERM") ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace ripeline::runtime
