// Tests `ripeline launch` with shell commands and with toy_rank: which processes end when, with
// which exit code, and that nothing is left behind.
#include "runtime/launcher/launch.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <vector>

#include "runtime/exit_code.h"
#include "runtime/network/ucx.h"
#include "tests/runtime/launch_case.h"

namespace ripeline::runtime::launcher {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A time limit for events that happen at once on an idle machine.
constexpr auto kLimit = 60s;

TEST_F(LaunchTest, tells_each_rank_who_it_is) {
  const std::string script =
      "echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, $MASTER_ADDR;"
      "stat -c %a $RIPELINE_FOLDER; test -n \"$MASTER_PORT\"";
  EXPECT_EQ(launch(shell(2, script)), 0);
  EXPECT_EQ(count("[rank 0] 0 of 2, 0 of 2, 127.0.0.1"), 1);
  EXPECT_EQ(count("[rank 1] 1 of 2, 1 of 2, 127.0.0.1"), 1);
  EXPECT_EQ(count("] 700"), 2);
}

TEST_F(LaunchTest, returns_the_exit_code_of_the_first_that_fails) {
  EXPECT_EQ(launch(shell(3, "[ $RANK = 1 ] && exit 5; sleep 0.3; exit 6")), 5);
  expect_nothing_left();
}

TEST_F(LaunchTest, returns_128_and_the_signal) {
  EXPECT_EQ(launch(shell(1, "kill -SEGV $$")), 128 + SIGSEGV);
}

TEST_F(LaunchTest, names_the_rank_and_the_signal_that_ended_it) {
  EXPECT_EQ(launch(shell(3, "[ $RANK = 2 ] && kill -KILL $$; exec sleep 30", {"--grace", "0"})),
            128 + SIGKILL);
  EXPECT_EQ(count("rank 2 was ended by SIGKILL"), 1) << output();
  EXPECT_EQ(count("was ended by"), 1) << "those that the launcher ends are not told\n" << output();
}

TEST_F(LaunchTest, says_that_a_program_is_missing) {
  EXPECT_EQ(launch({"-n", "2", "--", "/nowhere/train"}), 127);
  EXPECT_EQ(count("/nowhere/train: cannot be started: No such file or directory"), 2);
  EXPECT_EQ(launch({"-n", "1", "--", "/dev/null"}), 126);
  expect_nothing_left();
}

TEST_F(LaunchTest, ends_what_its_ranks_leave_behind) {
  EXPECT_EQ(launch(shell(2, "sleep 100 & exit 0")), 0);
  expect_nothing_left();
}

TEST_F(LaunchTest, kills_what_ignores_the_request_to_end) {
  const std::string script =
      "trap '' TERM; [ $RANK = 0 ] && sleep 0.2 && exit 3; while :; do sleep 0.1; done";
  const Clock::time_point begin = Clock::now();
  EXPECT_EQ(launch(shell(2, script, {"--grace", "0"})), 3);
  EXPECT_GE(Clock::now() - begin, 3s) << "it did not ignore it";
  EXPECT_LT(Clock::now() - begin, kLimit);
  expect_nothing_left();
}

TEST_F(LaunchTest, runs_a_program_to_its_end) {
  EXPECT_EQ(launch({"-n", "4", "--", RIPELINE_TOY_RANK, "bf", "5", "0"}), 0) << output();
  EXPECT_EQ(count("] done"), 4) << output();
  expect_nothing_left();
}

void choose_ucx() {
  setenv("RIPELINE_TRANSPORT", "ucx", 1);
  setenv("UCX_TLS", "posix,cma,self", 1);
}

TEST_F(LaunchTest, runs_over_ucx) {
  if (!network::has_ucx()) GTEST_SKIP() << "built without UCX";
  launched_.before = choose_ucx;
  EXPECT_EQ(launch({"-n", "4", "--", RIPELINE_TOY_RANK, "bf", "5", "0"}), 0) << output();
  expect_nothing_left();
}

TEST_F(LaunchTest, ends_over_ucx_when_one_rank_is_killed) {
  if (!network::has_ucx()) GTEST_SKIP() << "built without UCX";
  launched_.before = choose_ucx;
  start_toy(3);
  ASSERT_GT(launched_.pid_of(1), 0);
  kill(launched_.pid_of(1), SIGKILL);
  EXPECT_EQ(wait(), 128 + SIGKILL) << output();
  expect_nothing_left();
}

TEST_F(LaunchTest, ends_all_when_one_rank_is_killed_and_each_says_why) {
  start_toy(4);
  const Clock::time_point killed = Clock::now();
  ASSERT_GT(launched_.pid_of(2), 0);
  kill(launched_.pid_of(2), SIGKILL);
  EXPECT_EQ(wait(), 128 + SIGKILL);
  EXPECT_LT(Clock::now() - killed, kLimit);
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(output_of(rank), AllOf(HasSubstr("rank 2 was lost"), HasSubstr(" waits for ")));
  }
  expect_nothing_left();
}

TEST_F(LaunchTest, ends_all_when_one_rank_is_told_to_end_and_each_says_so) {
  start_toy(3);
  ASSERT_GT(launched_.pid_of(1), 0);
  kill(launched_.pid_of(1), SIGTERM);
  EXPECT_EQ(wait(), kToldToEnd);
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(output_of(rank), HasSubstr("] rank 1 was told to end by SIGTERM\n")) << output();
  }
  EXPECT_EQ(count("rank 1 failed first, with exit code 143"), 1) << output();
  expect_nothing_left();
}

// The exit code is that of the rank that failed first, although that rank ends last.
TEST_F(LaunchTest, returns_the_code_of_the_rank_that_did_not_lose_another) {
  EXPECT_EQ(launch(shell(3, "[ $RANK = 1 ] && sleep 1 && exit 5; exit 12")), 5);
  EXPECT_EQ(count("rank 1 failed first, with exit code 5"), 1) << output();
}

TEST_F(LaunchTest, tells_those_that_connect_of_a_rank_that_ended_before) {
  const std::string toy = RIPELINE_TOY_RANK;
  EXPECT_EQ(launch(shell(3, "[ $RANK = 1 ] && exit 0; exec " + toy + " bf 1 0", {"--grace", "60"})),
            exit_code_of(core::StatusCode::lost));
  for (const int rank : {0, 2}) {
    EXPECT_THAT(output_of(rank), HasSubstr("] rank 1 ended with exit code 0 before it joined"));
  }
  expect_nothing_left();
}

TEST_F(LaunchTest, ends_all_at_an_interrupt) {
  start_toy(3);
  launched_.signal(SIGINT);
  EXPECT_EQ(wait(), 130);
  expect_nothing_left();
}

TEST_F(LaunchTest, leaves_no_rank_when_it_is_killed_itself) {
  start_toy(3);
  launched_.signal(SIGKILL);
  EXPECT_EQ(wait(), -SIGKILL);
  expect_nothing_left();
}

TEST_F(LaunchTest, of_ranks_with_different_schedules_ends_with_both_hashes) {
  const std::string toy = RIPELINE_TOY_RANK;
  const std::string script = "case $RANK in 1) s=gpipe;; *) s=bf;; esac; exec " + toy + " $s 1 0";
  EXPECT_EQ(launch(shell(3, script)), exit_code_of(core::StatusCode::refused));
  const std::string text = output();
  EXPECT_THAT(text, HasSubstr("all ranks must be built from the same schedule"));
  EXPECT_THAT(text, Not(HasSubstr("running")));
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(output_of(rank), HasSubstr(" runs program ")) << "rank " << rank;
  }
  expect_nothing_left();
}

// With `nohup ripeline launch …` neither the launcher nor the ranks end.
TEST_F(LaunchTest, keeps_ignoring_a_signal_that_was_ignored) {
  launched_.before = [] { std::signal(SIGHUP, SIG_IGN); };
  start(shell(2, "kill -HUP $$; echo here; sleep 1; echo end"));
  wait_for("here", 2);
  launched_.signal(SIGHUP);
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(count("end"), 2) << output();
}

TEST_F(LaunchTest, ends_all_when_its_terminal_goes) {
  start_toy(2);
  launched_.signal(SIGHUP);
  EXPECT_EQ(wait(), 128 + SIGHUP);
  expect_nothing_left();
}

TEST_F(LaunchTest, sees_its_ranks_end_where_children_are_ignored) {
  launched_.before = [] { std::signal(SIGCHLD, SIG_IGN); };
  EXPECT_EQ(launch(shell(2, "exit $((RANK * 5))")), 5);
  expect_nothing_left();
}

// Two generations of sessions; the parent of the second one has ended.
const char* const kSessions =
    "setsid sh -c 'setsid sleep 1000 & exec sleep 1000' & setsid sh -c 'sleep 1000 & exit' & "
    "echo here; ";

TEST_F(LaunchTest, ends_children_in_sessions_of_their_own) {
  EXPECT_EQ(launch(shell(2, std::string(kSessions) + "sleep 0.3")), 0);
  expect_nothing_left();
}

TEST_F(LaunchTest, when_killed_leaves_no_children_in_sessions_of_their_own) {
  start(shell(2, std::string(kSessions) + "sleep 1000"));
  wait_for("here", 2);
  launched_.signal(SIGKILL);
  EXPECT_EQ(wait(), -SIGKILL);
  expect_nothing_left();
}

TEST_F(LaunchTest, ends_all_when_its_guard_is_killed) {
  start(shell(2, std::string(kSessions) + "sleep 1000"));
  wait_for("here", 2);
  for (const pid_t pid : launched_.processes()) {
    const std::string name = testing_support::text_of("/proc/" + std::to_string(pid) + "/comm");
    if (name == "launch-guard\n") kill(pid, SIGKILL);
  }
  EXPECT_EQ(wait(), 128 + SIGKILL);
  EXPECT_EQ(count("the launcher's guard was ended, and with it the ranks"), 1) << output();
  expect_nothing_left();
}

// Neither launcher nor guard can remove the run's folder, so the next run removes it.
TEST_F(LaunchTest, removes_the_folder_of_a_run_whose_launcher_and_guard_were_killed_at_once) {
  start_toy(2);
  std::vector<pid_t> both = {launched_.pid()};
  for (const pid_t pid : launched_.processes()) {
    if (testing_support::text_of("/proc/" + std::to_string(pid) + "/comm") == "launch-guard\n")
      both.push_back(pid);
  }
  ASSERT_EQ(both.size(), 2U);
  for (const int number : {SIGSTOP, SIGKILL}) {
    for (const pid_t pid : both) kill(pid, number);
  }
  EXPECT_EQ(wait(), -SIGKILL);
  ASSERT_TRUE(testing_support::becomes_true([&] { return launched_.processes().empty(); }));
  const std::filesystem::directory_iterator left(launched_.temporary());
  ASSERT_NE(left, std::filesystem::directory_iterator()) << "somebody else has removed it";
  std::filesystem::last_write_time(left->path(),
                                   std::filesystem::file_time_type::clock::now() - 2min);
  EXPECT_EQ(launch({"-n", "1", "--", "true"}), 0);
  expect_nothing_left();
}

TEST_F(LaunchTest, lets_a_stopped_rank_say_its_last_words) {
  const std::string script =
      "trap 'echo bye; exit 1' TERM; [ $RANK = 0 ] && sleep 0.3 && exit 3; kill -STOP $$; sleep "
      "1000";
  EXPECT_EQ(launch(shell(2, script, {"--grace", "1"})), 3);
  EXPECT_EQ(count("[rank 1] bye"), 1) << output();
  EXPECT_EQ(count("the ranks that still run 1 s after the first failure are ended"), 1) << output();
  expect_nothing_left();
}

TEST_F(LaunchTest, ends_all_when_some_ranks_find_no_program) {
  EXPECT_EQ(
      launch(shell(3, "[ $RANK = 1 ] && exec /nowhere/train; exec sleep 1000", {"--grace", "0"})),
      127);
  EXPECT_EQ(count("rank 1 failed first, with exit code 127"), 1) << output();
  EXPECT_EQ(count("left out"), 0) << output();
  expect_nothing_left();
}

void limit(__rlimit_resource what, rlim_t value) {
  const rlimit both{.rlim_cur = value, .rlim_max = value};
  setrlimit(what, &both);
}

TEST_F(LaunchTest, starts_nothing_when_there_are_not_enough_descriptors) {
  launched_.before = [] { limit(RLIMIT_NOFILE, 32); };
  EXPECT_EQ(launch(shell(20, "echo started")), 2);
  EXPECT_THAT(output(), HasSubstr("of 20: Too many open files"));
  EXPECT_EQ(count("started"), 0) << output();
  expect_nothing_left();
}

TEST_F(LaunchTest, raises_its_own_limit_of_descriptors_and_not_the_ranks) {
  launched_.before = [] {
    const rlimit few{.rlim_cur = 32, .rlim_max = 256};
    setrlimit(RLIMIT_NOFILE, &few);
  };
  EXPECT_EQ(launch(shell(20, "ulimit -n")), 0) << output();
  EXPECT_EQ(count("] 32"), 20) << output();
}

// The limit counts the processes of the real user, and applies only without certain capabilities.
TEST_F(LaunchTest, ends_those_that_run_when_a_rank_cannot_be_started) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a user who has no other processes";
  launched_.before = [] {
    limit(RLIMIT_NPROC, 6);
    constexpr int kSysAdmin = 21;  // from linux/capability.h
    constexpr int kSysResource = 24;
    for (const int each : {kSysAdmin, kSysResource}) prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
    if (setresuid(54321, 0, 0) != 0) _exit(98);
  };
  EXPECT_EQ(launch(shell(12, "exec sleep 1000")), 2);
  // The launcher's own processes count towards the limit of six; with a sanitizer, its threads too.
  EXPECT_THAT(output(), ContainsRegex("cannot start rank [1-5]: Resource temporarily unavailable"));
  expect_nothing_left();
}

TEST_F(LaunchTest, refuses_wrong_arguments) {
  EXPECT_NE(launch({"-n", "0", "--", "true"}), 0);
  EXPECT_NE(launch({"-n", "2"}), 0);
  EXPECT_NE(launch({"--", "true"}), 0);
  int exit_code = 0;
  EXPECT_EQ(launcher::launch({}, exit_code).code(), core::StatusCode::invalid);
}

}  // namespace
}  // namespace ripeline::runtime::launcher
