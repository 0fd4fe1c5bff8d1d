// RankLog: the events of one rank of an emulated run, in order, as values that can be sent.
//
// Recording an event costs no more than appending to a vector; the log is evaluated when the run is
// over (emulate/together.h). Belongs to its rank's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/arbiter.h"
#include "emulate/latency.h"
#include "runtime/run.h"

namespace ripeline::emulate {

// One event, whose bytes are sent as they are between processes of one program.
struct Entry {
  enum class Kind : std::uint8_t {
    arrived,   // message `what` (an edge)
    started,   // task `what` (a lane)
    finished,  // task `what` (a lane)
    asked,     // the executor was polled; the entries up to the next `asked` are its answers
    sent,      // message `what`
    idle,      // `engine` stays idle; `what` and `microbatch` name a committed order's next task
  };
  Kind kind = Kind::asked;
  core::Engine engine = core::Engine::compute;
  bool hands_over = false;  // if idle: the engine waits to hand over a rendezvous message
  bool holds = false;       // if idle: the arbiter holds the engine
  std::int32_t what = -1;
  std::int32_t microbatch = -1;
  core::Time at{0};
  core::Time sent{0};  // if arrived: the time when the message left
};

struct RankRun {
  core::Status status;
  std::string waiting;  // if the run did not end: the waits of the rank
  std::vector<Entry> entries;
  std::vector<std::int64_t> peaks;  // per pool; 0 for pools of other ranks
  std::int64_t controls = 0;        // announcements and grants
  std::int64_t notices = 0;
  core::Time start{0};  // the common start of all ranks, on the host's clock
  core::Time overshot{0};
  core::Time behind{0};
};

// The run as bytes, for another process of the same program. decode() refuses truncated bytes.
[[nodiscard]] runtime::Blob encode(const RankRun& run);
core::Status decode(const runtime::Blob& payload, RankRun& run);

class Recorder final : public runtime::protocol::RankObserver {
 public:
  // All are borrowed.
  Recorder(const core::Arbiter& arbiter, const runtime::RankClock& clock,
           const LatencyTransport& transport, RankRun& run);

  void arrived(const runtime::signals::Data& data, core::Time sent, core::Time at) override;
  void started(core::Task task, core::Time at) override;
  void finished(core::Task task, core::Time at) override;
  void polled(core::Time now, const core::Executor& executor,
              std::span<const core::Command> commands) override;
  void sent(core::Time now, std::span<const core::Command> commands) override;

 private:
  void count(const core::Command& command, core::Time now);

  const core::Arbiter& arbiter_;
  const runtime::RankClock& clock_;
  const LatencyTransport& transport_;
  bool began_ = false;
  RankRun& run_;
  std::vector<core::Engine> engines_;  // the engines that the rank's lanes use
};

}  // namespace ripeline::emulate
