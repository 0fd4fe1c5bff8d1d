// One loop over the ranks' output and a signalfd; no threads, so that forking is simple. Beside the
// ranks there is a guard, a process that cleans up should the launcher be killed.
#include "runtime/launch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string_view>
#include <thread>

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kLongestFolder = 80;  // leaves room for a socket's name in a Unix address
constexpr auto kTermToKill = 3s;
// A killed rank's sockets close before it can be waited for: the others may seem to fail first.
constexpr auto kSameFailure = 500ms;
constexpr auto kDrain = 1s;                  // for output that outlives its rank
constexpr std::size_t kLongestLine = 65536;  // bytes; a longer one is shown in parts

Status system_error(const std::string& what) {
  return {StatusCode::failed, what + ": " + std::strerror(errno)};
}

// A port that is free now, for programs that use MASTER_PORT; Ripeline's sockets do not.
int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (fd >= 0) close(fd);
  return bound ? ntohs(address.sin_port) : 29500;
}

// One output of one rank.
struct Stream {
  int from = -1;  // -1: closed
  int to = STDOUT_FILENO;
  std::string prefix;
  std::string line;
};

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody reads: the ranks go on
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Shows the complete lines of what it has, and the rest too if it is `last`.
void show(Stream& stream, bool last) {
  std::string out;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t newline = stream.line.find('\n', begin);
    const bool too_long =
        newline == std::string::npos && stream.line.size() - begin >= kLongestLine;
    if (newline == std::string::npos && !too_long && !(last && begin < stream.line.size())) break;
    const std::size_t end = std::min(newline, stream.line.size());
    out += stream.prefix + stream.line.substr(begin, end - begin) + '\n';
    begin = std::min(end + 1, stream.line.size());
  }
  stream.line.erase(0, begin);
  write_all(stream.to, out);
}

struct Rank {
  pid_t pid = 0;  // also its process group's
  bool ended = false;
};

// SIGKILL; the number for one without a name.
std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options) : options_(options) {}

  ~Launcher() {
    for (const Rank& rank : ranks_) {
      if (rank.ended) continue;
      kill(-rank.pid, SIGKILL);
      waitpid(rank.pid, nullptr, 0);
    }
    for (const Stream& stream : streams_) {
      if (stream.from >= 0) close(stream.from);
    }
    if (signals_ >= 0) close(signals_);
    std::signal(SIGPIPE, old_pipe_);
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
    if (to_guard_ < 0) return;
    close(to_guard_);
    waitpid(guard_, nullptr, 0);
  }

  Status run(int& exit_code) {
    if (Status status = prepare(); !status.ok()) return status;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      if (Status status = start(rank); !status.ok()) return status;
    }
    while (running_ > 0) {
      wait_for_events(next_deadline());
      escalate();
    }
    const Clock::time_point limit = Clock::now() + kDrain;
    while (open_streams() > 0 && Clock::now() < limit) wait_for_events(limit);
    for (Stream& stream : streams_) show(stream, true);
    exit_code = exit_code_;
    return {};
  }

 private:
  Status prepare() {
    sigset_t mask;
    sigemptyset(&mask);
    for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&mask, s);
    if (sigprocmask(SIG_BLOCK, &mask, &old_mask_) != 0) return system_error("cannot block signals");
    signals_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) return system_error("cannot listen for signals");
    old_pipe_ = std::signal(SIGPIPE, SIG_IGN);  // when nobody reads our output any longer
    std::error_code error;
    std::string pattern =
        (std::filesystem::temp_directory_path(error) / "ripeline-run-XXXXXX").string();
    if (error || pattern.size() > kLongestFolder) pattern = "/tmp/ripeline-run-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      return system_error(pattern + ": cannot make the run's folder");
    folder_ = pattern;
    std::random_device random;
    const std::uint64_t token = (std::uint64_t{random()} << 32) | random();
    std::array<char, 17> text{};
    std::to_chars(text.data(), text.data() + 16, token, 16);
    token_ = text.data();
    port_ = std::to_string(free_port());
    launcher_ = getpid();
    return start_guard();
  }

  Status start_guard() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe");
    guard_ = fork();
    if (guard_ == 0) guard(ends[0]);
    close(ends[0]);
    if (guard_ < 0) {
      close(ends[1]);
      return system_error("cannot start the guard");
    }
    to_guard_ = ends[1];
    return {};
  }

  // In the guard: reads which ranks run (a group's id; negative: it has ended) until the launcher
  // is gone, then ends those that are left. Never returns.
  [[noreturn]] void guard(int from) const {
    setsid();  // away from the terminal's signals
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) std::signal(s, SIG_IGN);
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
    const int low = STDERR_FILENO + 1;
    if (from != low) dup2(from, low);
    close_range(low + 1, ~0U,
                0);  // whoever reads the launcher's output must not wait for the guard
    std::vector<pid_t> running;
    pid_t group = 0;
    while (read(low, &group, sizeof group) == sizeof group) {
      if (group > 0) {
        running.push_back(group);
      } else {
        std::erase(running, -group);
      }
    }
    for (const pid_t pid : running) kill(-pid, SIGKILL);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    _exit(0);
  }

  void tell_guard(pid_t group) const {
    const auto* bytes = reinterpret_cast<const char*>(&group);
    write_all(to_guard_, {bytes, sizeof group});
  }

  Status start(int rank) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (pipe2(out.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe");
    if (pipe2(err.data(), O_CLOEXEC) != 0) {
      const Status status = system_error("cannot make a pipe");
      close(out[0]);
      close(out[1]);
      return status;
    }
    const std::string prefix = options_.prefix ? "[rank " + std::to_string(rank) + "] " : "";
    streams_.push_back({.from = out[0], .to = STDOUT_FILENO, .prefix = prefix, .line = {}});
    streams_.push_back({.from = err[0], .to = STDERR_FILENO, .prefix = prefix, .line = {}});
    const pid_t pid = fork();
    if (pid == 0) become(rank, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    if (pid < 0) return system_error("cannot start rank " + std::to_string(rank));
    setpgid(pid, pid);  // in both, since either may be first
    ranks_.push_back({.pid = pid, .ended = false});
    tell_guard(pid);
    ++running_;
    return {};
  }

  // In the child: never returns.
  [[noreturn]] void become(int rank, int out, int err) const {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher_) _exit(1);
    std::signal(SIGPIPE, old_pipe_);
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    const std::string ranks = std::to_string(options_.ranks);
    const std::string self = std::to_string(rank);
    set("RANK", self);
    set("LOCAL_RANK", self);
    set("GROUP_RANK", "0");
    set("WORLD_SIZE", ranks);
    set("LOCAL_WORLD_SIZE", ranks);
    set("MASTER_ADDR", "127.0.0.1");
    set("MASTER_PORT", port_);
    set("TORCHELASTIC_RUN_ID", std::filesystem::path(folder_).filename().string());
    set("RIPELINE_FOLDER", folder_);
    set("RIPELINE_TOKEN", token_);
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const unsigned threads = std::max(1U, cores / static_cast<unsigned>(options_.ranks));
    setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 0);
    std::vector<char*> argv;
    for (const std::string& word : options_.command)
      argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    const std::string message =
        options_.command[0] + ": cannot be started: " + std::strerror(errno) + "\n";
    const int exit_code = errno == ENOENT ? 127 : 126;
    write_all(STDERR_FILENO, message);
    _exit(exit_code);
  }

  static void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

  int open_streams() const {
    return static_cast<int>(std::count_if(streams_.begin(), streams_.end(),
                                          [](const Stream& s) { return s.from >= 0; }));
  }

  void wait_for_events(Clock::time_point limit) {
    std::vector<pollfd> fds = {{.fd = signals_, .events = POLLIN, .revents = 0}};
    for (const Stream& stream : streams_)
      fds.push_back({.fd = stream.from, .events = POLLIN, .revents = 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - Clock::now()).count();
    if (poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000))) <=
        0)
      return;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (fds[i + 1].revents != 0) read_from(streams_[i]);
    }
    if (fds[0].revents != 0) read_signals();
  }

  static void read_from(Stream& stream) {
    std::array<char, 16384> buffer;
    const ssize_t n = read(stream.from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) return;
    if (n > 0) {
      stream.line.append(buffer.data(), static_cast<std::size_t>(n));
    } else {
      close(stream.from);
      stream.from = -1;
    }
    show(stream, n <= 0);
  }

  void read_signals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == sizeof info) {
      const auto number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD) continue;
      if (exit_code_ == 0) exit_code_ = 128 + number;
      if (!term_at_) term_at_ = Clock::now();
      *term_at_ = std::min(*term_at_, Clock::now());
    }
    reap();
  }

  void reap() {
    int code = 0;
    for (Rank& rank : ranks_) {
      siginfo_t info{};
      if (rank.ended ||
          waitid(P_PID, static_cast<id_t>(rank.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          info.si_pid == 0) {
        continue;
      }
      kill(-rank.pid, SIGKILL);  // what it left behind, while its id is still its own
      waitpid(rank.pid, nullptr, 0);
      tell_guard(-rank.pid);
      rank.ended = true;
      --running_;
      const bool by_signal = info.si_code != CLD_EXITED;
      if (by_signal) say_ended(rank, info.si_status);
      // Of those that are found together, one that a signal ended comes first: others fail because
      // of it.
      if (code == 0 || by_signal) code = (by_signal ? 128 : 0) + info.si_status;
    }
    if (code == 0) return;
    const bool is_cause =
        code >= 128 && !terminated_ && failed_at_ && Clock::now() - *failed_at_ < kSameFailure;
    if (exit_code_ == 0) failed_at_ = Clock::now();
    if (exit_code_ == 0 || is_cause) exit_code_ = code;
    if (!term_at_) term_at_ = Clock::now() + options_.grace;
  }

  // Not of those that the launcher itself ends.
  void say_ended(const Rank& rank, int signal) const {
    if (terminated_) return;
    write_all(STDERR_FILENO, "rank " + std::to_string(&rank - ranks_.data()) + " was ended by " +
                                 signal_name(signal) + "\n");
  }

  Clock::time_point next_deadline() const {
    if (!term_at_) return Clock::now() + 60s;
    return *term_at_ + (terminated_ ? Clock::duration(kTermToKill) : Clock::duration(0));
  }

  void escalate() {
    if (!term_at_ || Clock::now() < next_deadline()) return;
    for (const Rank& rank : ranks_) {
      if (!rank.ended) kill(-rank.pid, terminated_ ? SIGKILL : SIGTERM);
    }
    if (terminated_) term_at_ = Clock::now();  // again, should one be stuck in the kernel
    terminated_ = true;
  }

  const LaunchOptions& options_;
  sigset_t old_mask_{};
  sighandler_t old_pipe_ = SIG_DFL;
  int signals_ = -1;
  pid_t launcher_ = 0;
  std::string folder_;
  std::string token_;
  std::string port_;
  int to_guard_ = -1;
  pid_t guard_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Stream> streams_;
  int running_ = 0;
  int exit_code_ = 0;
  std::optional<Clock::time_point> failed_at_;  // the rank that gave exit_code_
  std::optional<Clock::time_point> term_at_;
  bool terminated_ = false;
};

}  // namespace

Status launch(const LaunchOptions& options, int& exit_code) {
  if (options.ranks < 1 || options.command.empty()) {
    return {StatusCode::invalid, "expected at least one rank and a program"};
  }
  return Launcher(options).run(exit_code);
}

}  // namespace ripeline::runtime
