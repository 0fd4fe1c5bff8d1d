// launcher/sink: one output of the launcher, written without ever waiting for its reader.
//
// The open file behind standard output is shared with the user's shell and whoever else writes
// there, so it is not made non-blocking. A pipe or terminal is opened once more, for the launcher
// alone; a socket is told with each write; a file never waits for a reader.
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

  // Takes whole lines, always: whoever can wait asks full() first.
  void add(std::string_view lines) { pending_ += lines; }
  [[nodiscard]] bool full() const;
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }  // bytes

  [[nodiscard]] pollfd wanted() const;  // descriptor -1: nothing to write
  // After poll() has reported wanted(): writes what goes. True if something went.
  bool write();

  // Bytes that could not be written for another reason than that the reader is gone, and the last
  // such reason.
  [[nodiscard]] std::size_t lost() const { return lost_; }
  [[nodiscard]] int error() const { return error_; }

 private:
  const int descriptor_;
  int own_ = -1;  // opened once more
  bool socket_ = false;
  std::size_t largest_;  // bytes in one write, after which poll() is asked again
  std::string pending_;
  std::size_t lost_ = 0;
  int error_ = 0;
};

// Do both end up at the same reader, so that lines must not be written half to one, half to the
// other? Not so for files, which take lines whole.
bool same_reader(int one, int other);

}  // namespace ripeline::runtime::launcher
