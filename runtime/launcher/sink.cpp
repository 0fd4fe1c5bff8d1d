#include "runtime/launcher/sink.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace ripeline::runtime::launcher {
namespace {

constexpr std::size_t kMostPending = 65536;  // bytes

struct stat look_at(int descriptor) {
  struct stat info {};
  fstat(descriptor, &info);
  return info;
}

}  // namespace

Sink::Sink(int descriptor) : descriptor_(descriptor), largest_(SSIZE_MAX) {
  const struct stat info = look_at(descriptor);
  socket_ = S_ISSOCK(info.st_mode);
  if (!S_ISFIFO(info.st_mode) && isatty(descriptor) == 0) return;
  own_ = open(("/proc/self/fd/" + std::to_string(descriptor)).c_str(),
              O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  // Opening the output anew may fail for another user's pipe. A pipe that poll() reports as
  // writable takes PIPE_BUF bytes without waiting, unless somebody else writes in between.
  if (own_ < 0) largest_ = PIPE_BUF;
}

Sink::~Sink() {
  if (own_ >= 0) close(own_);
}

bool Sink::full() const { return pending_.size() >= kMostPending; }

pollfd Sink::wanted() const {
  const int descriptor = own_ >= 0 ? own_ : descriptor_;
  return {.fd = pending_.empty() ? -1 : descriptor, .events = POLLOUT, .revents = 0};
}

bool Sink::write() {
  std::size_t written = 0;
  while (written < pending_.size()) {
    const std::string_view text = std::string_view(pending_).substr(written, largest_);
    const ssize_t n = socket_
                          ? send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                          : ::write(own_ >= 0 ? own_ : descriptor_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) {  // the text is dropped, so that the ranks can continue
      if (n < 0 && errno != EPIPE) {
        lost_ += pending_.size() - written;
        error_ = errno;
      }
      written = pending_.size();
      break;
    }
    written += static_cast<std::size_t>(n);
    if (largest_ == PIPE_BUF) break;
  }
  pending_.erase(0, written);
  return written > 0;
}

bool same_reader(int one, int other) {
  const struct stat a = look_at(one);
  const struct stat b = look_at(other);
  return !S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace ripeline::runtime::launcher
