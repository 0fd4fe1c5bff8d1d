// Emulating: the training runtime with tasks and messages that only take their time.
//
// Executors, arbiters, workers and transports are those that train. A task occupies its engine
// without using the CPU, as a kernel on a GPU does: its rank's thread goes on, and sleeps when
// there is nothing to do, so that many ranks fit on few cores. Times are those of the simulator:
// one Timing gives both the same draws.
//
// Clocks: each task ends exactly its duration after its start, and a message is due exactly its
// latency after it left. What a timer or a wake-up is late counts for nothing (runtime/clock.h);
// what a rank's own thread does between an event and what follows from it counts. So errors do not
// add up, and the difference to the simulator is what scheduling takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
  // A run in which nothing happens for so long sticks.
  core::Time silence = std::chrono::seconds(120);
  bool causes = false;  // whether to give the causes of idle intervals
};

struct EmulatedRun {
  simulate::RunReport run;  // times from the common start of the ranks
  trace::Record record;     // tasks by their starts, messages by their arrivals
  core::Time overshot{0};   // the most by which a rank woke late: not counted
  core::Time behind{0};     // the most by which a rank went on late: counted
};

// One step, each member of each rank a thread, over network/local. Blocks until it has ended.
using MakeArbiter = std::function<std::unique_ptr<core::Arbiter>(int rank)>;
[[nodiscard]] EmulatedRun emulate(const core::ProgramFacts& facts, const MakeArbiter& make_arbiter,
                                  int microbatches, const simulate::Timing& timing,
                                  const EmulateOptions& options);

// One process's part of a run, in the caller's thread: any number of steps. All processes run the
// same ones in the same order.
class EmulatedRank {
 public:
  // The transport is borrowed.
  EmulatedRank(runtime::Transport& transport, const core::Layout& layout, core::Time silence);

  // One step: the processes agree on a start, and run it. Both are borrowed for as long. The next
  // step may be another program's of this layout; what an arbiter learned stays with it.
  [[nodiscard]] RankRun run(core::Arbiter& arbiter, const simulate::Timing& timing,
                            int microbatches);
  // Gathers the logs of the last step, by process, to every process.
  core::Status gather(const RankRun& mine, std::vector<RankRun>& all);
  core::Status finish() { return run_.finish(silence_); }
  // For a rank that cannot go on.
  core::Status fail(core::Status why) { return run_.fail(std::move(why)); }

 private:
  core::Status agree_on_start(core::Time& start);

  core::Time silence_;
  std::int64_t step_ = 0;  // the next one
  runtime::RankClock clock_;
  LatencyTransport transport_;
  runtime::Run run_;
};

}  // namespace ripeline::emulate
