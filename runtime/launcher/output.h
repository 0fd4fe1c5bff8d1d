// launcher/output: merges the ranks' outputs, a pipe for each, into the launcher's own outputs.
//
// Each line is written in one piece with its prefix, in the order in which the lines arrived. The
// stored text is bounded: while a reader takes nothing, the ranks' pipes are not read, so ranks
// that keep writing block. The launcher does not block.
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

// The ends of the pipes that one rank writes to.
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

  // Makes the pipes of all ranks. `prefix` puts `[rank 2] ` before each line. Fails by status if
  // there are not enough descriptors.
  core::Status open(int ranks, bool prefix, std::vector<RankOutputs>& ends);

  // Writes a line of the launcher's own to standard error.
  void write_line(std::string_view line);

  // Waits until something can be moved, until `others` report something, or until `limit`; then
  // moves what can be moved. True if anything was moved.
  bool wait(Clock::time_point limit, std::span<pollfd> others);

  [[nodiscard]] bool reading() const;           // some rank's end is open
  [[nodiscard]] std::size_t unwritten() const;  // bytes that wait for a reader
  // Stops reading. Bytes that a rank has written and nobody has read count as dropped.
  void stop_reading();

  // A sentence for each reason why output reached no reader; empty if there is no such output.
  [[nodiscard]] std::vector<std::string> left_out() const;

 private:
  struct Stream {
    int from = -1;  // -1 if closed
    Sink* to = nullptr;
    std::string prefix = {};
    std::string line = {};  // the last line, while it is incomplete
  };

  Sink& error_sink() { return together_ ? out_ : err_; }
  static void show(Stream& stream, bool last);
  static void read_from(Stream& stream);

  const bool together_;  // both outputs have one reader; all lines use out_, so none is torn
  Sink out_;
  Sink err_;
  std::vector<Stream> streams_;
  std::size_t first_ = 0;  // the stream that is next
  std::size_t unread_ = 0;
};

}  // namespace ripeline::runtime::launcher
