// launcher/sink: one output of the launcher, written without ever waiting for its reader.
//
// The open file behind standard output is shared with the user's shell and other writers, so it is
// not made non-blocking. Instead a pipe or terminal is opened once more, for the launcher alone;
// each write to a socket asks not to wait; a write to a file never waits for a reader.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace ripeline::runtime::launcher {

class Sink {
 public:
  explicit Sink(int descriptor);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink();

  // Adds complete lines, without a limit; so a caller that can wait asks full() first.
  void add(std::string_view lines) { pending_ += lines; }
  [[nodiscard]] bool full() const;
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }  // bytes

  [[nodiscard]] pollfd wanted() const;  // descriptor -1 if there is nothing to write
  // Call this after poll() has reported wanted(). Writes what can be written; true if anything was.
  bool write();

  // The number of bytes that could not be written although the reader was there, and the errno of
  // the last such failure.
  [[nodiscard]] std::size_t lost() const { return lost_; }
  [[nodiscard]] int error() const { return error_; }

 private:
  const int descriptor_;
  int own_ = -1;  // the output, opened once more
  bool socket_ = false;
  std::size_t largest_;  // bytes in one write, after which poll() is asked again
  std::string pending_;
  std::size_t lost_ = 0;
  int error_ = 0;
};

// Whether both descriptors lead to the same reader, so that no line may be split between them.
// False for files, which take each line in one piece.
bool same_reader(int one, int other);

}  // namespace ripeline::runtime::launcher
