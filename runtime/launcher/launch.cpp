// One loop waits for the ranks' output, the guard and a signalfd, and never for anything else. The
// loop decides which ranks end and when; launcher/guard.h ends them.
#include "runtime/launcher/launch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "runtime/exit_code.h"
#include "runtime/launcher/guard.h"
#include "runtime/launcher/inherited.h"
#include "runtime/launcher/output.h"
#include "runtime/launcher/processes.h"
#include "runtime/launcher/run_folder.h"

namespace ripeline::runtime::launcher {
namespace {

using core::Status;
using core::StatusCode;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kTermToKill = 3s;
// A killed rank's end may be reported this long after the failures that its closed sockets cause.
constexpr auto kSameFailure = 500ms;
constexpr auto kDrain = 1s;       // for output that arrives after its rank's end
constexpr auto kGuardEnds = 15s;  // longer than the guard waits for processes that it kills

// A port that is free now, for programs that use MASTER_PORT. Ripeline's own sockets do not use it.
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

// Without this a pipe could get the number of a closed standard output, and be mistaken for it.
void open_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);  // takes the lowest number
  }
}

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options) : options_(options) { inherited_.change(); }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher() {
    guard_.end();
    if (signals_ >= 0) close(signals_);
    inherited_.restore();
  }

  Status run(int& exit_code) {
    if (Status status = start(); !status.ok()) return status;
    while (guard_.descriptor() >= 0 && stage_ != Stage::killed) {
      wait(deadline_.value_or(Clock::now() + 60s));
      if (deadline_ && Clock::now() >= *deadline_) escalate();
    }
    finish();
    exit_code = exit_code_;
    return not_started_;
  }

 private:
  enum class Stage {
    running,     // all ranks run, or one has failed and the others have their grace
    terminated,  // SIGTERM was sent
    ended,       // all ranks have ended
    killed,
  };

  Status start() {
    signals_ = signalfd(-1, &inherited_.end_signals(), SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0)
      return {StatusCode::failed, std::string("cannot listen for signals: ") + strerror(errno)};
    std::vector<RankOutputs> ends;
    if (Status status = output_.open(options_.ranks, options_.prefix, ends); !status.ok())
      return status;
    return guard_.start({.ranks = options_.ranks,
                         .command = options_.command,
                         .folder = folder_,
                         .port = std::to_string(free_port())},
                        ends, inherited_);
  }

  bool wait(Clock::time_point limit) {
    std::array<pollfd, 2> others = {
        pollfd{.fd = signals_, .events = POLLIN, .revents = 0},
        pollfd{.fd = guard_.descriptor(), .events = POLLIN, .revents = 0}};
    const bool moved = output_.wait(limit, others);
    if (others[0].revents != 0) read_signals();
    if (others[1].revents != 0) {
      for (const GuardReport& report : guard_.reports()) handle(report);
    }
    return moved;
  }

  void read_signals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == sizeof info) {
      if (exit_code_ == 0) exit_code_ = 128 + static_cast<int>(info.ssi_signo);
      interrupted_ = true;
      if (stage_ == Stage::running) deadline_ = Clock::now();
    }
  }

  void handle(const GuardReport& report) {
    const std::string rank = "rank " + std::to_string(report.who);
    switch (report.kind) {
      case GuardReport::Kind::no_folder:
        not_started_ = {StatusCode::failed,
                        folder_ + ": cannot make the run's folder: " + std::strerror(report.value)};
        return;
      case GuardReport::Kind::not_started:
        not_started_ = {StatusCode::failed,
                        "cannot start " + rank + ": " + std::strerror(report.value)};
        return;
      case GuardReport::Kind::ended:
        if (report.value != 0)
          failed(report.value,
                 rank + " failed first, with exit code " + std::to_string(report.value));
        break;
      case GuardReport::Kind::signalled:
        // A rank that the launcher itself ends is not reported.
        if (stage_ == Stage::running)
          output_.write_line(rank + " was ended by " + signal_name(report.value));
        failed(128 + report.value, {});
        break;
    }
    if (++ended_ < options_.ranks) return;
    stage_ = Stage::ended;
    deadline_ = Clock::now() + kGuardEnds;
  }

  // Notes a failure. A rank that a signal ended counts as the cause before ranks that ended by
  // themselves at the same time, and any failure counts before that of a rank that lost another.
  void failed(int code, std::string sentence) {
    constexpr int kLost = exit_code_of(core::StatusCode::lost);
    const bool is_same = failed_at_ && Clock::now() - *failed_at_ < kSameFailure;
    const bool is_cause = stage_ == Stage::running && !interrupted_ &&
                          ((exit_code_ == kLost && code != kLost) || (code >= 128 && is_same));
    if (exit_code_ == 0) failed_at_ = Clock::now();
    if (exit_code_ == 0 || is_cause) {
      exit_code_ = code;
      cause_ = std::move(sentence);
    }
    if (!deadline_) deadline_ = Clock::now() + options_.grace;
  }

  void escalate() {
    if (stage_ == Stage::running) {
      if (!interrupted_) {
        output_.write_line("the ranks that still run " + std::to_string(options_.grace.count()) +
                           " s after the first failure are ended");
      }
      guard_.signal_ranks(SIGTERM);
      stage_ = Stage::terminated;
      deadline_ = Clock::now() + kTermToKill;
    } else {
      stage_ = Stage::killed;
    }
  }

  void finish() {
    const bool guard_died = stage_ != Stage::ended && stage_ != Stage::killed && not_started_.ok();
    for (const pid_t pid : guard_.end()) {
      output_.write_line("process " + std::to_string(pid) + " does not end, though it was killed");
    }
    if (guard_died) {
      output_.write_line("the launcher's guard was ended, and with it the ranks");
      if (exit_code_ == 0) exit_code_ = 128 + SIGKILL;
    }
    const bool all = drain(true);
    output_.stop_reading();
    const std::vector<std::string> left_out = output_.left_out();
    if (!cause_.empty()) output_.write_line(cause_);
    for (const std::string& sentence : left_out) output_.write_line(sentence);
    drain(all);
  }

  // Moves the output until all is written. If nothing can be moved, returns false: at once without
  // `patience`, otherwise after the time that a reader is allowed.
  bool drain(bool patience) {
    Clock::time_point moved = Clock::now();
    while (output_.reading() || output_.unwritten() > 0) {
      const Clock::duration reader =
          interrupted_ ? kDrain : std::max<Clock::duration>(options_.grace, kDrain);
      const Clock::duration limit = !patience ? 0s : output_.unwritten() == 0 ? kDrain : reader;
      if (wait(moved + limit)) {
        moved = Clock::now();
      } else if (Clock::now() >= moved + limit) {
        return false;
      }
    }
    return true;
  }

  const LaunchOptions& options_;
  const Inherited inherited_;
  // Chosen here; the guard makes the folder. Launcher or guard removes it if the other is killed.
  const std::string folder_ = new_run_folder();
  int signals_ = -1;
  MergedOutput output_;
  Guard guard_;
  Stage stage_ = Stage::running;
  std::optional<Clock::time_point> deadline_;  // the stage's deadline
  int ended_ = 0;                              // ranks that have ended
  int exit_code_ = 0;
  std::string cause_;                           // the cause of exit_code_, if not reported at once
  std::optional<Clock::time_point> failed_at_;  // when the first rank failed
  bool interrupted_ = false;
  Status not_started_;
};

}  // namespace

Status launch(const LaunchOptions& options, int& exit_code) {
  if (options.ranks < 1 || options.command.empty()) {
    return {StatusCode::invalid, "expected at least one rank and a program"};
  }
  open_standard_descriptors();
  return Launcher(options).run(exit_code);
}

}  // namespace ripeline::runtime::launcher
