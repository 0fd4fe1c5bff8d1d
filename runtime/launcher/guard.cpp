#include "runtime/launcher/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "runtime/launcher/guard_process.h"
#include "runtime/launcher/processes.h"

namespace ripeline::runtime::launcher {
namespace {

constexpr std::chrono::seconds kMargin{2};  // the time that a busy guard gets

}  // namespace

using core::Status;
using core::StatusCode;

Guard::Guard() : others_(children()) {
  prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Guard::~Guard() {
  end();
  prctl(PR_SET_CHILD_SUBREAPER, was_subreaper_);
}

Status Guard::start(const RunPlan& plan, const std::vector<RankOutputs>& outputs,
                    const Inherited& inherited) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return {StatusCode::failed, std::string("cannot make a socket: ") + std::strerror(errno)};
  folder_ = plan.folder;
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    run_guard(plan, outputs, inherited, ends[1]);
  }
  const int error = errno;
  close(ends[1]);
  for (const RankOutputs& each : outputs) {
    close(each.out);
    close(each.err);
  }
  socket_ = ends[0];
  if (pid_ > 0) return {};
  close(socket_);
  socket_ = -1;
  return {StatusCode::failed, std::string("cannot start the guard: ") + std::strerror(error)};
}

std::vector<GuardReport> Guard::reports() {
  std::vector<GuardReport> reports;
  while (socket_ >= 0) {
    GuardReport report;
    const ssize_t n = recv(socket_, &report, sizeof report, MSG_DONTWAIT);
    if (n == sizeof report) {
      reports.push_back(report);
    } else if (n >= 0 || (errno != EINTR && errno != EAGAIN)) {
      close(socket_);
      socket_ = -1;
    } else if (errno == EAGAIN) {
      break;
    }
  }
  return reports;
}

void Guard::signal_ranks(int number) const {
  // A signal that does not fit the socket is dropped: the guard is stopped, and will be killed.
  if (socket_ >= 0) send(socket_, &number, sizeof number, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::vector<pid_t> Guard::end() {
  if (pid_ <= 0) return {};
  if (socket_ >= 0) {
    shutdown(socket_, SHUT_WR);  // as if the launcher were gone
    pollfd gone{.fd = socket_, .events = POLLIN, .revents = 0};
    const auto limit = std::chrono::steady_clock::now() + kEndLimit + kMargin;
    while (socket_ >= 0 && std::chrono::steady_clock::now() < limit) {
      poll(&gone, 1, 100);
      reports();
    }
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  kill(pid_, SIGKILL);  // the guard has ended, or cannot end
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
  const std::vector<pid_t> left = end_children(kEndLimit, others_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  return left;
}

}  // namespace ripeline::runtime::launcher
