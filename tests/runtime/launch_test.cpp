// `ripeline launch` with shell commands and with toy_rank: what ends when, with which exit code,
// and that nothing is left behind.
#include "runtime/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/exit_code.h"
#include "tests/runtime/ranks.h"

namespace ripeline::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// For what comes at once where nothing else runs.
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

// The launcher as a child, with a folder for temporary files of its own: whatever that run leaves
// behind lies there, and whoever belongs to it has the folder in its environment.
class LaunchTest : public testing::Test {
 protected:
  void TearDown() override {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  void start(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {RIPELINE_PROGRAM, "launch"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ != 0) return;
    setenv("TMPDIR", temporary_.path().c_str(), 1);
    const int out = open(output_path().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(output_ < 0 ? out : output_, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(99);
  }

  // The launcher's exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    const bool ended = becomes_true([&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
    EXPECT_TRUE(ended) << "the launcher still runs; it said:\n" << output();
    if (!ended) return -1;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int launch(const std::vector<std::string>& arguments) {
    start(arguments);
    return wait();
  }

  std::string output() const { return text_of(output_path()); }
  long count(const std::string& line) const {
    std::istringstream in(output());
    long n = 0;
    for (std::string each; std::getline(in, each);) n += each.find(line) != std::string::npos;
    return n;
  }
  // The lines of one rank, with prefix.
  std::string output_of(int rank) const {
    std::istringstream in(output());
    std::string text;
    for (std::string each; std::getline(in, each);) {
      if (each.starts_with("[rank " + std::to_string(rank) + "] ")) text += each + "\n";
    }
    return text;
  }
  pid_t pid_of(int rank) const {
    const std::string text = output_of(rank);
    const std::size_t at = text.find("pid ");
    return at == std::string::npos ? -1 : std::stoi(text.substr(at + 4));
  }

  void start_toy(int ranks, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"-n", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", RIPELINE_TOY_RANK, "bf", "100000", "1"});
    start(words);
    ASSERT_TRUE(becomes_true([&] { return count("] running") == ranks; })) << output();
  }

  long processes() const {
    long n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
        continue;
      n += text_of(entry.path() / "environ").find("TMPDIR=" + temporary_.path()) !=
           std::string::npos;
    }
    return n;
  }
  void expect_nothing_left() {
    EXPECT_TRUE(becomes_true([this] { return processes() == 0; })) << processes() << " processes";
    EXPECT_TRUE(becomes_true([this] { return std::filesystem::is_empty(temporary_.path()); }));
  }

  int output_ = -1;  // of the launcher; -1: the file

 private:
  std::string output_path() const { return files_.path() + "/output"; }

  testing_support::TemporaryFolder temporary_;
  testing_support::TemporaryFolder files_;
  pid_t pid_ = -1;

 protected:
  void signal_launcher(int number) const { kill(pid_, number); }
};

std::vector<std::string> shell(int ranks, const std::string& script,
                               std::vector<std::string> options = {}) {
  options.insert(options.end(), {"-n", std::to_string(ranks), "--", "sh", "-c", script});
  return options;
}

TEST_F(LaunchTest, prefixes_the_lines_of_both_outputs) {
  EXPECT_EQ(launch(shell(2, "echo one; echo two >&2; printf three")), 0);
  for (const char* rank : {"[rank 0] ", "[rank 1] "}) {
    for (const char* line : {"one", "two", "three"}) EXPECT_EQ(count(std::string(rank) + line), 1);
  }
  EXPECT_EQ(count(""), 6) << output();
  expect_nothing_left();
}

TEST_F(LaunchTest, writes_no_prefix_if_told_so) {
  EXPECT_EQ(launch(shell(1, "echo bare", {"--no-prefix"})), 0);
  EXPECT_EQ(output(), "bare\n");
}

TEST_F(LaunchTest, shows_long_lines_and_much_output_whole) {
  EXPECT_EQ(
      launch(shell(2, "head -c 200000 /dev/zero | tr '\\0' x; echo; seq 1 20000", {"--no-prefix"})),
      0);
  const std::string text = output();
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 400000);
  EXPECT_EQ(count("20000"), 2);
}

TEST_F(LaunchTest, tells_each_rank_who_it_is) {
  const std::string script =
      "echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, $MASTER_ADDR;"
      "stat -c %a $RIPELINE_FOLDER; test -n \"$MASTER_PORT$RIPELINE_TOKEN\"";
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

TEST_F(LaunchTest, goes_on_when_nobody_reads_its_output) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  output_ = ends[1];
  EXPECT_EQ(launch(shell(2, "seq 1 10000; exit $((RANK * 7))")), 7);
  close(ends[1]);
  expect_nothing_left();
}

TEST_F(LaunchTest, runs_a_program_to_its_end) {
  EXPECT_EQ(launch({"-n", "4", "--", RIPELINE_TOY_RANK, "bf", "5", "0"}), 0) << output();
  EXPECT_EQ(count("] done"), 4) << output();
  expect_nothing_left();
}

TEST_F(LaunchTest, ends_all_when_one_rank_is_killed_and_each_says_why) {
  start_toy(4);
  const Clock::time_point killed = Clock::now();
  ASSERT_GT(pid_of(2), 0);
  kill(pid_of(2), SIGKILL);
  EXPECT_EQ(wait(), 128 + SIGKILL);
  EXPECT_LT(Clock::now() - killed, kLimit);
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(output_of(rank), AllOf(HasSubstr("rank 2 was lost"), HasSubstr(" waits for ")));
  }
  expect_nothing_left();
}

TEST_F(LaunchTest, ends_all_at_an_interrupt) {
  start_toy(3);
  signal_launcher(SIGINT);
  EXPECT_EQ(wait(), 130);
  expect_nothing_left();
}

TEST_F(LaunchTest, leaves_no_rank_when_it_is_killed_itself) {
  start_toy(3);
  signal_launcher(SIGKILL);
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

TEST_F(LaunchTest, refuses_wrong_arguments) {
  EXPECT_NE(launch({"-n", "0", "--", "true"}), 0);
  EXPECT_NE(launch({"-n", "2"}), 0);
  EXPECT_NE(launch({"--", "true"}), 0);
  int exit_code = 0;
  EXPECT_EQ(runtime::launch({}, exit_code).code(), core::StatusCode::invalid);
}

}  // namespace
}  // namespace ripeline::runtime
