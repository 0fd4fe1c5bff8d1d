#include "runtime/launcher/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace ripeline::runtime::launcher {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::size_t kLongestLine = 65536;  // bytes; a longer one is shown in parts

}  // namespace

MergedOutput::MergedOutput()
    : together_(same_reader(STDOUT_FILENO, STDERR_FILENO)),
      out_(STDOUT_FILENO),
      err_(STDERR_FILENO) {}

MergedOutput::~MergedOutput() {
  for (const Stream& stream : streams_) {
    if (stream.from >= 0) close(stream.from);
  }
}

Status MergedOutput::open(int ranks, bool prefix, std::vector<RankOutputs>& ends) {
  for (int rank = 0; rank < ranks; ++rank) {
    ends.emplace_back();
    for (const bool is_error : {false, true}) {
      std::array<int, 2> pipe{};
      if (pipe2(pipe.data(), O_CLOEXEC) != 0) {
        return {StatusCode::failed, "cannot make the pipes of rank " + std::to_string(rank) +
                                        " of " + std::to_string(ranks) + ": " +
                                        std::strerror(errno)};
      }
      streams_.push_back({.from = pipe[0],
                          .to = is_error ? &error_sink() : &out_,
                          .prefix = prefix ? "[rank " + std::to_string(rank) + "] " : ""});
      (is_error ? ends.back().err : ends.back().out) = pipe[1];
    }
  }
  return {};
}

void MergedOutput::write_line(std::string_view line) { error_sink().add(std::string(line) + '\n'); }

bool MergedOutput::wait(Clock::time_point limit, std::span<pollfd> others) {
  std::vector<pollfd> fds(others.begin(), others.end());
  const std::size_t sinks = fds.size();
  fds.push_back(out_.wanted());
  fds.push_back(err_.wanted());
  for (const Stream& stream : streams_) {
    fds.push_back({.fd = stream.to->full() ? -1 : stream.from, .events = POLLIN, .revents = 0});
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - Clock::now()).count();
  const auto milliseconds = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  for (pollfd& other : others) other.revents = 0;
  if (poll(fds.data(), fds.size(), milliseconds) <= 0) return false;
  std::copy_n(fds.begin(), others.size(), others.begin());
  bool moved = fds[sinks].revents != 0 && out_.write();
  if (fds[sinks + 1].revents != 0) moved |= err_.write();
  if (streams_.empty()) return moved;
  first_ = (first_ + 1) % streams_.size();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const std::size_t turn = (first_ + i) % streams_.size();
    if (fds[sinks + 2 + turn].revents == 0 || streams_[turn].to->full()) continue;
    read_from(streams_[turn]);
    moved = true;
  }
  return moved;
}

void MergedOutput::read_from(Stream& stream) {
  std::array<char, 16384> buffer;
  const ssize_t n = ::read(stream.from, buffer.data(), buffer.size());
  if (n < 0 && errno == EINTR) return;
  if (n > 0) {
    stream.line.append(buffer.data(), static_cast<std::size_t>(n));
  } else {
    close(stream.from);
    stream.from = -1;
  }
  show(stream, n <= 0);
}

// Passes the stream's complete lines to its sink and, if `last`, the incomplete one, too.
void MergedOutput::show(Stream& stream, bool last) {
  std::string lines;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t newline = stream.line.find('\n', begin);
    const bool too_long =
        newline == std::string::npos && stream.line.size() - begin >= kLongestLine;
    if (newline == std::string::npos && !too_long && !(last && begin < stream.line.size())) break;
    const std::size_t end = std::min(newline, stream.line.size());
    lines.append(stream.prefix).append(stream.line, begin, end - begin).push_back('\n');
    begin = std::min(end + 1, stream.line.size());
  }
  stream.line.erase(0, begin);
  stream.to->add(lines);
}

bool MergedOutput::reading() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const Stream& s) { return s.from >= 0; });
}

std::size_t MergedOutput::unwritten() const { return out_.pending() + err_.pending(); }

void MergedOutput::stop_reading() {
  for (Stream& stream : streams_) {
    if (stream.from < 0) continue;
    int bytes = 0;
    if (ioctl(stream.from, FIONREAD, &bytes) == 0) unread_ += static_cast<std::size_t>(bytes);
    close(stream.from);
    stream.from = -1;
    show(stream, true);
  }
}

std::vector<std::string> MergedOutput::left_out() const {
  std::vector<std::string> sentences;
  if (const std::size_t bytes = unread_ + unwritten(); bytes > 0) {
    sentences.push_back("nobody reads the output: its last " + std::to_string(bytes) +
                        " bytes are left out");
  }
  for (const Sink* sink : {&out_, &err_}) {
    if (sink->lost() == 0) continue;
    sentences.push_back(std::string(sink == &out_ ? "standard output: " : "standard error: ") +
                        std::strerror(sink->error()) + ": " + std::to_string(sink->lost()) +
                        " bytes are left out");
  }
  return sentences;
}

}  // namespace ripeline::runtime::launcher
