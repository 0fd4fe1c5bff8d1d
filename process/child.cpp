#include "process/child.h"

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

#include <fmt/format.h>

namespace ripeline::process {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPause{50};
constexpr std::size_t kMostErrors = 4096;

// Owns a descriptor, and closes it in its destructor.
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

// A pair of sockets, one for this process and one for the child. Unlike a pipe, a socket can be
// written without SIGPIPE. The child's descriptor is above the standard ones until it is copied.
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

class Running {
 public:
  explicit Running(const Child& child)
      : child_(child), input_(child.input), end_(Clock::now() + child.time) {}

  ChildRun run() {
    run_.not_started = start();
    if (run_.not_started != 0) return std::move(run_);
    while (!has_ended()) {
      stop_if_due();
      exchange();
    }
    // Kills what the child has started. The child's id cannot be reused before reap().
    if (child_.has_group) signal(SIGKILL);
    reap();
    exchange();  // reads its last output
    return std::move(run_);
  }

 private:
  void signal(int number) const {
    if (is_reaped_) return;  // its id may be another process's by now
    kill(child_.has_group ? -pid_ : pid_, number);
  }

  int start() {
    if (!to_.open() || !from_.open() || (!child_.shows_errors && !errors_.open())) return errno;
    std::vector<char*> arguments;
    for (const std::string& word : child_.command) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to_.its.number(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, from_.its.number(), STDOUT_FILENO);
    if (!child_.shows_errors) {
      posix_spawn_file_actions_adddup2(&files, errors_.its.number(), STDERR_FILENO);
    }
    // The terminal sends no signals to a child that has its own group. It sends them to the caller,
    // which stops the child.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    const int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                      (child_.has_group ? POSIX_SPAWN_SETPGROUP : 0);
    posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    for (const int number : {SIGTERM, SIGPIPE, SIGINT, SIGHUP, SIGCHLD}) {
      sigaddset(&signals, number);
    }
    posix_spawnattr_setsigdefault(&attributes, &signals);
    const int error =
        posix_spawnp(&pid_, arguments[0], &files, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    to_.its.close();
    from_.its.close();
    errors_.its.close();
    if (input_.empty()) to_.mine.close();  // the child reads the end of its input at once
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
    is_reaped_ = true;
    // If the caller ignores SIGCHLD, the exit status is lost; only the child's output is known.
    if (ended < 0) return;
    if (WIFSIGNALED(status)) run_.signal = WTERMSIG(status);
    if (WIFEXITED(status)) run_.exit_code = WEXITSTATUS(status);
  }

  void stop_if_due() {
    const Clock::time_point now = Clock::now();
    if (!run_.was_stopped) {
      if (now >= next_question_) {
        next_question_ = now + kPause;
        if (child_.go_on && !child_.go_on()) {
          end_ = now;
          if (child_.is_abandoned) return kill_at_once();
        }
      }
      if (now < end_) return;
      run_.was_stopped = true;
      end_ = now + child_.grace;
      signal(SIGTERM);
    } else if (now >= end_ && !run_.was_killed) {
      run_.was_killed = true;
      signal(SIGKILL);
    }
  }

  void kill_at_once() {
    run_.was_stopped = run_.was_killed = true;
    signal(SIGKILL);
  }

  // Sends and receives the bytes that are ready; waits at most kPause.
  void exchange() {
    std::array<pollfd, 3> ways = {pollfd{to_.mine.number(), POLLOUT, 0},
                                  pollfd{from_.mine.number(), POLLIN, 0},
                                  pollfd{errors_.mine.number(), POLLIN, 0}};
    if (input_.empty()) ways[0].fd = -1;
    const bool silent = !from_.mine.is_open() && !errors_.mine.is_open();
    // A child that has closed its outputs ends soon, so the pause is short.
    const milliseconds pause = silent ? milliseconds(1) : kPause;
    if (poll(ways.data(), ways.size(), static_cast<int>(pause.count())) <= 0) return;
    if (ways[0].fd >= 0 && ways[0].revents != 0) send_some();
    if (ways[1].fd >= 0 && ways[1].revents != 0) {
      receive(from_.mine, run_.output, child_.most_output);
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
    constexpr int kAtOnce = 64;  // more than a socket holds; the time is then checked again
    std::array<char, 1 << 16> part;
    for (int i = 0; i < kAtOnce; ++i) {
      const ssize_t got = recv(from.number(), part.data(), part.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return from.close();
      const std::size_t room = most - text.size();
      text.append(part.data(), std::min(room, static_cast<std::size_t>(got)));
      if (static_cast<std::size_t>(got) <= room) continue;
      if (&text == &run_.output && !std::exchange(run_.wrote_too_much, true)) {
        signal(SIGKILL);
      }
      return;
    }
  }

  const Child& child_;
  std::string_view input_;  // the part of the child's input that has not been sent
  Clock::time_point end_;   // the end of the child's time; after SIGTERM, of the grace period
  Clock::time_point next_question_ = {};
  Way to_;
  Way from_;
  Way errors_;
  pid_t pid_ = -1;
  bool is_reaped_ = false;
  ChildRun run_;
};

}  // namespace

ChildRun run_child(const Child& child) { return Running(child).run(); }

std::string how_it_ended(const Child& child, const ChildRun& run) {
  if (run.not_started != 0) {
    return fmt::format("cannot be run: {}", std::strerror(run.not_started));
  }
  if (run.wrote_too_much) {
    return fmt::format("wrote more than {} bytes and was killed", child.most_output);
  }
  if (run.was_stopped) {
    return fmt::format("did not end within {} s and was killed; it had written {}",
                       std::chrono::duration<double>(child.time).count(),
                       run.output.empty() ? "nothing" : fmt::format("{} bytes", run.output.size()));
  }
  return run.signal != 0 ? fmt::format("was ended by signal {}", run.signal)
                         : fmt::format("ended with {}", run.exit_code);
}

}  // namespace ripeline::process
