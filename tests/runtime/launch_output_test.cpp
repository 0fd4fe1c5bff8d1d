// Tests the output of `ripeline launch`: the form of each rank's lines, and unread output.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ostream>
#include <string>
#include <thread>

#include "tests/runtime/launch_case.h"

namespace ripeline::runtime::launcher {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

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

TEST_F(LaunchTest, goes_on_when_the_reader_of_its_output_has_gone) {
  launched_.before = [] {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) _exit(98);
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
  };
  EXPECT_EQ(launch(shell(2, "seq 1 10000; exit $((RANK * 7))")), 7);
  expect_nothing_left();
}

// An output that nobody reads; it is one of three kinds of file that can be full.
struct Unread {
  const char* name;
  // Opens the reader's end, if there is one, and the launcher's end.
  std::array<int, 2> (*open)();
};

std::ostream& operator<<(std::ostream& out, const Unread& each) { return out << each.name; }

const Unread kUnread[] = {
    {"a_pipe",
     [] {
       std::array<int, 2> ends{};
       EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
       return ends;
     }},
    {"a_socket",
     [] {
       std::array<int, 2> ends{};
       EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
       return ends;
     }},
    {"a_terminal",
     [] {
       std::array<int, 2> ends{};
       ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
       EXPECT_EQ(grantpt(ends[0]), 0);
       EXPECT_EQ(unlockpt(ends[0]), 0);
       ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
       return ends;
     }},
};

class UnreadTest : public LaunchTest, public testing::WithParamInterface<Unread> {
 protected:
  UnreadTest() : ends_(GetParam().open()) {
    launched_.before = [this] { dup2(ends_[1], STDOUT_FILENO); };
  }
  ~UnreadTest() override {
    for (const int end : ends_) close(end);
  }

  // Reads until all copies of the other end are closed.
  std::string read_all() const {
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
      pollfd readable{.fd = ends_[0], .events = POLLIN, .revents = 0};
      if (poll(&readable, 1, 60'000) <= 0) return text + "(nothing came)";
      const ssize_t n = read(ends_[0], buffer.data(), buffer.size());
      if (n <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }

  std::array<int, 2> ends_;
};

INSTANTIATE_TEST_SUITE_P(LaunchTo, UnreadTest, testing::ValuesIn(kUnread),
                         [](const auto& each) { return each.param.name; });

TEST_P(UnreadTest, a_failing_rank_ends_the_others_and_what_nobody_reads_is_left_out) {
  EXPECT_EQ(launch(shell(2, "[ $RANK = 1 ] && sleep 0.5 && exit 7; yes", {"--grace", "1"})), 7);
  EXPECT_EQ(count("nobody reads the output: its last "), 1) << output();
  EXPECT_EQ(count("rank 1 failed first, with exit code 7"), 1) << output();
  EXPECT_EQ(fcntl(ends_[1], F_GETFL) & O_NONBLOCK, 0) << "others write there too";
  expect_nothing_left();
}

TEST_P(UnreadTest, signals_end_all) {
  start(shell(2, "echo here >&2; yes"));
  wait_for("here", 2);
  std::this_thread::sleep_for(200ms);  // until the output is full or nearly full
  launched_.signal(SIGTERM);
  EXPECT_EQ(wait(), 128 + SIGTERM);
  expect_nothing_left();
}

TEST_P(UnreadTest, nothing_is_lost_when_it_is_read_late) {
  start(shell(2, "seq 100000 199999 >&2; seq 100000 199999; echo end >&2",
              {"--no-prefix", "--grace", "60"}));
  std::this_thread::sleep_for(300ms);
  close(ends_[1]);
  ends_[1] = -1;
  const std::string text = read_all();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 200000);
  EXPECT_THAT(text, Not(HasSubstr("nothing came")));
  EXPECT_EQ(wait(), 0);
}

TEST_F(LaunchTest, says_what_a_full_disk_left_out) {
  launched_.before = [] { dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO); };
  EXPECT_EQ(launch(shell(1, "echo 123456", {"--no-prefix"})), 0);
  EXPECT_EQ(output(), "standard output: No space left on device: 7 bytes are left out\n");
}

TEST_F(LaunchTest, works_without_standard_outputs) {
  launched_.before = [] { close_range(STDIN_FILENO, STDERR_FILENO, 0); };
  EXPECT_EQ(launch(shell(2, "echo lost; echo lost >&2; exit $((RANK * 4))")), 4);
  expect_nothing_left();
}

}  // namespace
}  // namespace ripeline::runtime::launcher
