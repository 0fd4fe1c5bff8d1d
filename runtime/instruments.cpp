#include "runtime/instruments.h"

#include <cstdlib>
#include <thread>
#include <utility>

#include "files/new_file.h"
#include "runtime/protocol/delay.h"
#include "runtime/run.h"
#include "runtime/run_trace.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

constexpr const char* kTrace = "RIPELINE_TRACE";
constexpr const char* kDelay = "RIPELINE_DELAY";

std::string text_of_variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

Status after(const char* name, const Status& status) {
  if (status.ok()) return status;
  return {status.code(), std::string(name) + ": " + status.message()};
}

}  // namespace

Instruments instruments_of_environment() {
  return {.trace = text_of_variable(kTrace), .delay = text_of_variable(kDelay)};
}

Status check(const Instruments& instruments,
             const std::vector<const core::ProgramFacts*>& programs) {
  protocol::DelayPlan plan;
  Status status = protocol::DelayPlan::parse(instruments.delay, instruments.delay_seed, plan);
  if (status.ok()) status = plan.check_ops(programs);
  if (!status.ok()) return status;
  return instruments.trace.empty() ? Status() : files::NewFile(instruments.trace).status();
}

Status check_instruments_of_environment(const core::ProgramFacts& facts) {
  const Instruments found = instruments_of_environment();
  if (Status s = check({.trace = {}, .delay = found.delay}, {&facts}); !s.ok()) {
    return after(kDelay, s);
  }
  return after(kTrace, check({.trace = found.trace, .delay = {}}, {&facts}));
}

Status install(const Instruments& instruments, const core::ProgramFacts& facts, Run& run,
               protocol::RankOptions& options, BeforeTask& before_task) {
  protocol::DelayPlan plan;
  if (Status s = protocol::DelayPlan::parse(instruments.delay, instruments.delay_seed, plan);
      !s.ok()) {
    return s;
  }
  if (!plan.empty()) {
    if (options.due) {
      return {StatusCode::invalid, std::string(kDelay) + ": the program has delays of its own"};
    }
    options.due = protocol::due_of(plan, facts);
    before_task = [plan, &facts, next = std::move(before_task)](const TaskInfo& task) {
      std::this_thread::sleep_for(plan.compute(facts, task.step, task.task));
      if (next) next(task);
    };
  }
  if (instruments.trace.empty()) return {};
  if (options.trace != nullptr) {
    return {StatusCode::invalid, std::string(kTrace) + ": the program records a trace of its own"};
  }
  trace::RunInfo about;
  if (!plan.empty()) {
    about.seed = plan.seed();
    about.costs = "with the delays " + instruments.delay;
  }
  RunTrace* const trace = run.begin_trace(instruments.trace, std::move(about));
  if (trace == nullptr) {
    return {StatusCode::invalid, instruments.trace +
                                     ": a trace is of one program, and two of this run would "
                                     "write it"};
  }
  options.trace = trace->record();
  return {};
}

}  // namespace ripeline::runtime
