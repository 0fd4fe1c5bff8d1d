#include "runtime/termination.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "runtime/exit_code.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

constexpr int kSameRequest = 1000;  // milliseconds

// Global, since a signal handler gets no argument that could name the event to write to.
std::atomic<int> handled_event = -1;
std::atomic<pid_t> handled_process = 0;
std::atomic<bool> has_come = false;

void add_to(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(event, &one, sizeof one);
}

// Calls only functions that a signal handler may call.
void handle(int number) {
  const int error = errno;
  if (getpid() == handled_process) {
    has_come = true;
    add_to(handled_event);
  } else {  // a child, which must not speak for its parent
    std::signal(number, SIG_DFL);
    kill(getpid(), number);
  }
  errno = error;
}

}  // namespace

Termination::Termination() {
  sigaction(SIGTERM, nullptr, &before_);
  if (before_.sa_handler == SIG_IGN) return;
  event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_ < 0) return;  // SIGTERM then ends the process, as it would without this class
  handled_event = event_;
  handled_process = getpid();
  has_come = false;
  thread_ = std::thread([this] { listen(); });
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

Termination::~Termination() {
  if (event_ < 0) return;
  sigaction(SIGTERM, &before_, nullptr);
  stop_ = true;
  add_to(event_);
  thread_.join();
  close(event_);
}

bool Termination::requested() const { return event_ >= 0 && has_come; }

void Termination::call_when_requested(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  call_ = std::move(call);
  if (requested() && call_) call_();
}

bool Termination::wait(int milliseconds) {
  pollfd event{.fd = event_, .events = POLLIN, .revents = 0};
  int found = 0;
  do {
    found = poll(&event, 1, milliseconds);
  } while (found < 0 && errno == EINTR);
  std::uint64_t count = 0;
  return found > 0 && read(event_, &count, sizeof count) == sizeof count;
}

void Termination::listen() {
  wait(-1);
  if (stop_) return;
  {
    const std::lock_guard lock(mutex_);
    if (call_) call_();
  }
  while (wait(kSameRequest) && !stop_) {
  }
  if (stop_) return;
  std::signal(SIGTERM, SIG_DFL);
  while (!stop_) wait(-1);
}

Status Termination::status_of(const std::string& who) {
  return {StatusCode::lost, who + " was told to end by SIGTERM"};
}

Status Termination::status_at_start(const Termination* termination, int rank) {
  if (termination == nullptr || !termination->requested()) return {};
  const Status status = status_of("rank " + std::to_string(rank));
  return {status.code(), status.message() + " while the ranks connected"};
}

int Termination::exit_code_of(const Status& status) const {
  return requested() && !status.ok() ? kToldToEnd : runtime::exit_code_of(status.code());
}

}  // namespace ripeline::runtime
