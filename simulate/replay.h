// replay: a recorded run, event by event, through one executor per rank.
//
// The run comes from `ripeline verify --format json` (verify::read_run). Executors are asked for
// their next task only when the run says that one starts, so they must choose what the run chose;
// messages are announced, or let go into a slot of their own link, and handed over when it says
// that they arrive, and grants take no time: who of several takes a slot is the run's to say. The
// arbiters may be generated or interpreted: the end must be the same. One thread.
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
  std::optional<std::string> difference;  // nothing: every event happened as the run says
  bool stuck = false;  // then: nothing runs, no message is on its way, and none may start
  std::string state;   // then: who waits for what, and what is held
};

using MakeArbiter = std::function<std::unique_ptr<core::Arbiter>(int rank)>;

// `chooser`: dispatch, if the arbiters must choose the run's tasks by themselves; any, if it is
// enough that they may start.
[[nodiscard]] Replay replay(const spec::Program& program, const verify::RecordedRun& run,
                            const MakeArbiter& make_arbiter,
                            spec::Machine::Chooser chooser = spec::Machine::Chooser::dispatch);

}  // namespace ripeline::simulate
