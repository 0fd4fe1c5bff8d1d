// launch/output: the outputs of the ranks, a pipe for each, to the launcher's own.
//
// Lines come out whole, prefixed, in the order in which they came; what several ranks say at once
// on standard error comes out once (launch/lines.h). What is kept is bounded: while a reader takes
// nothing, the ranks' pipes are not read, so that ranks that go on writing wait. The launcher does
// not.
#pragma once

#include <poll.h>

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "runtime/launch/lines.h"
#include "runtime/launch/sink.h"

namespace ripeline::runtime {

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

  // How lines come out.
  struct Form {
    bool prefix = true;
    bool merge = true;  // equal lines of standard error; not without prefixes
  };
  // Makes the pipes of all ranks. Fails by status when there are not enough descriptors.
  core::Status open(int ranks, Form form, std::vector<RankOutputs>& ends);

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
  // Standard output or error.
  struct Way {
    explicit Way(int descriptor) : sink(descriptor) {}
    Lines lines;  // on the way to the sink
    Sink sink;
  };
  struct Stream {
    int from = -1;  // -1: closed
    Way* to = nullptr;
    int rank = 0;
    bool waits = false;     // for other ranks that say the same
    std::string line = {};  // the last one, while it has no end
  };

  Way& error_way() { return together_ ? out_ : err_; }
  void show(Stream& stream, bool last);
  void read_from(Stream& stream);
  // Passes lines that wait no longer to the sinks. True if something went.
  bool pass_on();

  const bool together_;  // one reader: all goes through out_, so that no line is torn
  Form form_;
  Way out_;
  Way err_;
  std::vector<Stream> streams_;
  std::size_t first_ = 0;  // the stream whose turn it is
  std::size_t unread_ = 0;
};

}  // namespace ripeline::runtime
