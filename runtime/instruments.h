// Instruments: what is recorded of a run, and which delays are injected into it, as the environment
// of its ranks says.
//
//   RIPELINE_TRACE=FILE   one trace of what ran when, written as runtime/run_trace.h has it
//   RIPELINE_DELAY=SPEC   delays of runtime/process/delay.h
//
// A TorchTrainer takes them by itself. A program with Workers of its own puts them into one, before
// it makes its engine and the worker:
//
//   process::RankOptions options;
//   BeforeTask before_task;
//   status = install(instruments_of_environment(), arbiter->facts(), run, options, before_task);
//   ...
//   status = run.finish(limit);  // rank 0 then writes FILE
//
// This is the one place that reads the two variables. Nothing is kept; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/status.h"
#include "runtime/engine.h"
#include "runtime/process/rank.h"

namespace ripeline::runtime {

class Run;

struct Instruments {
  std::string trace;             // FILE; empty: none is written
  std::string delay;             // SPEC; empty: none are injected
  std::uint64_t delay_seed = 1;  // unless SPEC has one
  bool operator==(const Instruments&) const = default;
};
[[nodiscard]] Instruments instruments_of_environment();

// Fails by status with what was expected: SPEC cannot be read or names an op that none of the
// programs has, or FILE cannot be written.
core::Status check(const Instruments& instruments,
                   const std::vector<const core::ProgramFacts*>& programs);
// The same of the environment's; the failure names the variable.
core::Status check_instruments_of_environment(const core::ProgramFacts& facts);

// Adds to what a rank of the program is made with; `before_task` then calls the one that was there.
// The run has the trace. Fails when SPEC cannot be read, when the run has a trace already, or when
// `options` have one or injected delays. That an op of SPEC is none of the program's is for check()
// to say: the delays may be those of several programs. `facts` must outlive the worker.
core::Status install(const Instruments& instruments, const core::ProgramFacts& facts, Run& run,
                     process::RankOptions& options, BeforeTask& before_task);

}  // namespace ripeline::runtime
