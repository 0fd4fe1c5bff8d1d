// Emulating: the training runtime, with tasks and messages that only take time.
//
// The executors, arbiters, ranks and transports are those of training. A task occupies its engine
// without using the CPU, as a kernel on a GPU does: the rank's thread continues, and sleeps when it
// has nothing to do, so that many ranks can share few cores. Times are those of the simulator,
// since one Timing makes the same draws for both.
//
// On its rank's clock each task ends exactly its duration after its start, and a message is due
// exactly its latency after it left. The lateness of timers and wake-ups does not count
// (runtime/clock.h), but the time that a rank's own thread takes between an event and its effects
// does. So errors do not add up, and the difference from the simulator is the time of scheduling.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/arbiter.h"
#include "core/layout.h"
#include "emulate/latency.h"
#include "emulate/log.h"
#include "runtime/run.h"
#include "simulate/simulator.h"
#include "simulate/timing.h"
#include "trace/record.h"

namespace ripeline::emulate {

struct EmulateOptions {
  // A run in which nothing happens for this long is stuck.
  core::Time silence = std::chrono::seconds(120);
  bool causes = false;  // whether to find the causes of idle intervals
};

struct EmulatedRun {
  simulate::RunReport run;  // times from the common start of the ranks
  trace::Record record;     // tasks by their starts, messages by their arrivals
  core::Time overshot{0};   // the largest lateness of a wake-up, which times exclude
  core::Time behind{0};     // the largest lateness of an action, which times include
};

// Runs one step over network/local, with a thread for each process. Blocks until all have ended.
using MakeArbiter = std::function<std::unique_ptr<core::Arbiter>(int rank)>;
[[nodiscard]] EmulatedRun emulate(const core::ProgramFacts& facts, const MakeArbiter& make_arbiter,
                                  int microbatches, const simulate::Timing& timing,
                                  const EmulateOptions& options);

// One process's part of a run, in the caller's thread, for any number of steps. All processes run
// the same steps in the same order.
class EmulatedRank {
 public:
  // The transport is borrowed.
  EmulatedRank(runtime::Transport& transport, const core::Layout& layout, core::Time silence);

  // Runs one step once processes agree on its start. Borrows `timing` and the arbiter's facts until
  // the next step, maybe of another program with this layout. An arbiter keeps what it has learned.
  [[nodiscard]] RankRun run(core::Arbiter& arbiter, const simulate::Timing& timing,
                            int microbatches);
  // Gathers the logs of the last step, by process, in every process.
  core::Status gather(const RankRun& mine, std::vector<RankRun>& all);
  core::Status finish() { return run_.finish(silence_); }
  // For a rank that cannot continue: fails the run, on all processes, for `why`.
  core::Status fail(core::Status why) { return run_.fail(std::move(why)); }

 private:
  core::Status agree_on_start(core::Time& start);

  core::Time silence_;
  std::int64_t step_ = 0;  // the next step
  runtime::RankClock clock_;
  LatencyTransport transport_;
  runtime::Run run_;
};

// Runs one step in this process; each member of each rank is a process on the same host. Connects
// to the other processes as the launcher's environment says, runs the step, and gathers the logs.
// In process 0, `whole` is set to the run, whose status may be a failure; in other processes it
// stays empty. Fails by status if this process's part of the run fails.
core::Status emulate_process(const core::ProgramFacts& facts, const MakeArbiter& make_arbiter,
                             int microbatches, const simulate::Timing& timing,
                             const EmulateOptions& options, std::optional<EmulatedRun>& whole);

}  // namespace ripeline::emulate
