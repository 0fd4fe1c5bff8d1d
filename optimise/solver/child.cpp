#include "optimise/solver/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

extern char** environ;

namespace ripeline::optimise {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPause{50};
constexpr std::size_t kMostErrors = 4096;

// Owns a descriptor, and closes it at its end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// The two ends, this process's and the child's, of a socket between them, to which one can write
// without SIGPIPE. The child's end is above the standard descriptors before it becomes one.
struct Way {
  Descriptor mine;
  Descriptor its;

  bool open() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    mine = Descriptor(ends[0]);
    its = Descriptor(ends[1]);
    its = Descriptor(fcntl(its.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    return its.is_open() && fcntl(mine.number(), F_SETFL, O_NONBLOCK) == 0;
  }
};

class Child {
 public:
  Child(std::string_view input, const ChildLimits& limits)
      : input_(input), limits_(limits), end_(Clock::now() + limits.time) {}

  ChildRun run(const std::string& program) {
    if (const int error = start(program); error != 0) {
      run_.not_started = std::strerror(error);
      return std::move(run_);
    }
    while (!has_ended()) {
      stop_if_due();
      exchange();
    }
    kill(-pid_, SIGKILL);  // ends what the child has started; its id is not reused until reap()
    reap();
    exchange();  // its last output
    return std::move(run_);
  }

 private:
  int start(std::string program) {
    if (!to_.open() || !from_.open() || !errors_.open()) return errno;
    std::string self = std::to_string(getpid());
    const std::array<char*, 3> arguments = {program.data(), self.data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to_.its.number(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, from_.its.number(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors_.its.number(), STDERR_FILENO);
    // The child has its own process group: signals of a terminal go to the caller, which stops it.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    for (const int number : {SIGTERM, SIGPIPE, SIGINT, SIGHUP, SIGCHLD}) {
      sigaddset(&signals, number);
    }
    posix_spawnattr_setsigdefault(&attributes, &signals);
    const int error =
        posix_spawn(&pid_, program.c_str(), &files, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    to_.its.close();
    from_.its.close();
    errors_.its.close();
    return error;
  }

  bool has_ended() {
    siginfo_t ended = {};
    const int result = waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
    return result == 0 ? ended.si_pid != 0 : errno != EINTR;
  }

  void reap() {
    int status = 0;
    pid_t ended = -1;
    while ((ended = waitpid(pid_, &status, 0)) < 0 && errno == EINTR) continue;
    // If the caller ignores SIGCHLD, nobody learns how the child ended; its output must tell.
    if (ended < 0) return;
    if (WIFSIGNALED(status)) run_.signal = WTERMSIG(status);
    if (WIFEXITED(status)) run_.exit_code = WEXITSTATUS(status);
  }

  void stop_if_due() {
    const Clock::time_point now = Clock::now();
    if (!run_.was_stopped) {
      if (now >= next_question_) {
        next_question_ = now + kPause;
        if (limits_.go_on && !limits_.go_on()) end_ = now;
      }
      if (now < end_) return;
      run_.was_stopped = true;
      end_ = now + limits_.grace;
      kill(-pid_, SIGTERM);
    } else if (now >= end_ && !run_.was_killed) {
      run_.was_killed = true;
      kill(-pid_, SIGKILL);
    }
  }

  // Moves the bytes that can be moved; waits for one pause at most.
  void exchange() {
    std::array<pollfd, 3> ways = {pollfd{to_.mine.number(), POLLOUT, 0},
                                  pollfd{from_.mine.number(), POLLIN, 0},
                                  pollfd{errors_.mine.number(), POLLIN, 0}};
    if (input_.empty()) ways[0].fd = -1;
    const bool silent = !from_.mine.is_open() && !errors_.mine.is_open();
    // A child that has closed its outputs is about to end.
    const milliseconds pause = silent ? milliseconds(1) : kPause;
    if (poll(ways.data(), ways.size(), static_cast<int>(pause.count())) <= 0) return;
    if (ways[0].fd >= 0 && ways[0].revents != 0) send_some();
    if (ways[1].fd >= 0 && ways[1].revents != 0) {
      receive(from_.mine, run_.output, limits_.most_output);
    }
    if (ways[2].fd >= 0 && ways[2].revents != 0) receive(errors_.mine, run_.errors, kMostErrors);
  }

  void send_some() {
    const ssize_t sent = send(to_.mine.number(), input_.data(), input_.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    input_.remove_prefix(sent < 0 ? input_.size() : static_cast<std::size_t>(sent));
    if (input_.empty()) shutdown(to_.mine.number(), SHUT_WR);
  }

  void receive(Descriptor& from, std::string& text, std::size_t most) {
    std::array<char, 1 << 16> part;
    for (;;) {
      const ssize_t got = recv(from.number(), part.data(), part.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return from.close();
      const std::size_t room = most - text.size();
      text.append(part.data(), std::min(room, static_cast<std::size_t>(got)));
      if (static_cast<std::size_t>(got) <= room) continue;
      if (&text == &run_.output && !std::exchange(run_.wrote_too_much, true)) {
        kill(-pid_, SIGKILL);
      }
      return;
    }
  }

  std::string_view input_;  // the input that is not sent yet
  const ChildLimits& limits_;
  Clock::time_point end_;  // the end of its time and, after SIGTERM, of the grace
  Clock::time_point next_question_ = {};
  Way to_;
  Way from_;
  Way errors_;
  pid_t pid_ = -1;
  ChildRun run_;
};

}  // namespace

ChildRun run_child(const std::string& program, std::string_view input, const ChildLimits& limits) {
  return Child(input, limits).run(program);
}

}  // namespace ripeline::optimise
