// RankLog: what one rank of an emulated run did, in its order, as values that can be sent.
//
// Recording takes no more than the growth of a vector; what it means is worked out when the run is
// over (emulate/emulate.h). Belongs to its rank's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/arbiter.h"
#include "emulate/latency.h"
#include "runtime/worker.h"

namespace ripeline::emulate {

// One thing that happened; bytes of it go between processes of one program.
struct Entry {
  enum class Kind : std::uint8_t {
    arrived,   // message `what` (an edge)
    started,   // task `what` (a lane)
    finished,  // the same
    asked,     // the executor; what follows, up to the next, are its answers
    sent,      // message `what`
    idle,      // `engine` stays idle; `what` and `microbatch` are the next of a committed order
  };
  Kind kind = Kind::asked;
  core::Engine engine = core::Engine::compute;
  bool hands_over = false;  // if idle: the engine hands over a rendezvous message
  bool holds = false;       // if idle: the arbiter holds the engine
  std::int32_t what = -1;
  std::int32_t microbatch = -1;
  core::Time at{0};
  core::Time sent{0};  // if arrived: when it left
};

struct RankRun {
  core::Status status;
  std::string waiting;  // if the run did not end: who waits for what
  std::vector<Entry> entries;
  std::vector<std::int64_t> peaks;  // per pool; 0 for those of other ranks
  std::int64_t controls = 0;        // announcements and grants
  std::int64_t notices = 0;
  core::Time start{0};  // all ranks', on the host's clock
  core::Time overshot{0};
  core::Time behind{0};
};

// As bytes, for another process of the same program; decode() refuses what is cut off.
[[nodiscard]] runtime::Blob encode(const RankRun& run);
core::Status decode(const runtime::Blob& payload, RankRun& run);

class Recorder final : public runtime::process::RankObserver {
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
  std::vector<core::Engine> engines_;  // those that the rank's lanes use
};

}  // namespace ripeline::emulate
