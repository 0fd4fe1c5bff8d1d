// replay: runs a recorded run again, event by event, with one executor per rank.
//
// The run comes from `ripeline verify --format json` (verify::read_run). Executors are asked for
// their next task only when a task of the run starts, and they must choose the same task. Only when
// a message arrives in the run is it announced, or released into a slot of its own link, and then
// handed over. Grants take no time. So the run decides which of several messages takes a slot.
// Arbiters may be generated or interpreted; the result must be the same. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/arbiter.h"
#include "spec/machine.h"
#include "spec/program.h"
#include "verify/report.h"

namespace ripeline::simulate {

struct Replay {
  std::optional<std::string> difference;  // nullopt if every event happened as in the run
  bool stuck = false;  // at the end nothing runs, no message is on its way, and no task may start
  std::string state;   // at the end: who waits for what, and the amounts held
};

using MakeArbiter = std::function<std::unique_ptr<core::Arbiter>(int rank)>;

// `chooser` is `dispatch` if the arbiters must choose the run's tasks by themselves, and `any` if
// it is enough that those tasks may start.
[[nodiscard]] Replay replay(const spec::Program& program, const verify::RecordedRun& run,
                            const MakeArbiter& make_arbiter,
                            spec::Machine::Chooser chooser = spec::Machine::Chooser::dispatch);

}  // namespace ripeline::simulate
