// launcher/output: the outputs of the ranks, a pipe for each, to the launcher's own.
//
// Lines come out whole, prefixed, in the order in which they came. What is kept is bounded: while a
// reader takes nothing, the ranks' pipes are not read, so that ranks that go on writing wait. The
// launcher does not.
#pragma once

#include <poll.h>

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "runtime/launcher/sink.h"

namespace ripeline::runtime::launcher {

// The ends that one rank writes to.
struct RankOutputs {
  int out = -1;
  int err = -1;
};

class MergedOutput {
 public:
  using Clock = std::chrono::steady_clock;

  MergedOutput();
  MergedOutput(const MergedOutput&) = delete;
  MergedOutput& operator=(const MergedOutput&) = delete;
  ~MergedOutput();

  // Makes the pipes of all ranks; `prefix`: `[rank 2] ` before each line. Fails by status when
  // there are not enough descriptors.
  core::Status open(int ranks, bool prefix, std::vector<RankOutputs>& ends);

  // A line of the launcher, on standard error.
  void say(std::string_view line);

  // Moves what can be moved, and waits for more until `limit` or until `others` report something.
  // True if something was moved.
  bool wait(Clock::time_point limit, std::span<pollfd> others);

  [[nodiscard]] bool reading() const;           // some rank's end is open
  [[nodiscard]] std::size_t unwritten() const;  // bytes that wait for a reader
  // Reads no more. What the ranks still had to say counts as left out.
  void stop_reading();

  // The output that no reader got, as a sentence for each reason; nothing if there is none.
  [[nodiscard]] std::vector<std::string> left_out() const;

 private:
  struct Stream {
    int from = -1;  // -1: closed
    Sink* to = nullptr;
    std::string prefix = {};
    std::string line = {};  // the last one, while it has no end
  };

  Sink& error_sink() { return together_ ? out_ : err_; }
  static void show(Stream& stream, bool last);
  static void read_from(Stream& stream);

  const bool together_;  // one reader: all goes through out_, so that no line is torn
  Sink out_;
  Sink err_;
  std::vector<Stream> streams_;
  std::size_t first_ = 0;  // the stream whose turn it is
  std::size_t unread_ = 0;
};

}  // namespace ripeline::runtime::launcher
