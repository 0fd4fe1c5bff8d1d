// Instruments: the trace that is recorded of a run and the delays that are injected into it. The
// environment variables of its ranks request them.
//
//   RIPELINE_TRACE=FILE   one trace of the run, in the form of runtime/run_trace.h
//   RIPELINE_DELAY=SPEC   delays, in the form of runtime/protocol/delay.h
//
// A TorchTrainer applies both by itself. A program that makes its own ranks installs them before it
// makes a rank and the rank's engine:
//
//   protocol::RankOptions options;
//   BeforeTask before_task;
//   status = install(instruments_of_environment(), arbiter->facts(), run, options, before_task);
//   ...
//   status = run.finish(limit);  // rank 0 then writes FILE
//
// Only this file reads the two variables. It keeps no state; any thread may call it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/status.h"
#include "runtime/engine.h"
#include "runtime/protocol/rank.h"

namespace ripeline::runtime {

class Run;

struct Instruments {
  std::string trace;             // FILE; empty if none is written
  std::string delay;             // SPEC; empty if none are injected
  std::uint64_t delay_seed = 1;  // unless SPEC has one
  bool operator==(const Instruments&) const = default;
};
[[nodiscard]] Instruments instruments_of_environment();

// Fails if SPEC cannot be read or names an op that none of the programs has, or if FILE cannot be
// written. The status names what was expected.
core::Status check(const Instruments& instruments,
                   const std::vector<const core::ProgramFacts*>& programs);
// Checks the environment's instruments in the same way; the status of a failure names the variable.
core::Status check_instruments_of_environment(const core::ProgramFacts& facts);

// Adds the instruments to the options of a rank of the program; the new `before_task` also calls
// the old one. The run owns the trace. Fails if SPEC cannot be read, if the run has a trace
// already, or if `options` have a trace or delays, but not if SPEC names an op of another program;
// check() refuses an op that no program has. `facts` must outlive the rank.
core::Status install(const Instruments& instruments, const core::ProgramFacts& facts, Run& run,
                     protocol::RankOptions& options, BeforeTask& before_task);

}  // namespace ripeline::runtime
