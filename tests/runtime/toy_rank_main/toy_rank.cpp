// One rank of a toy run, for the launcher's tests:
//   toy_rank SCHEDULE STEPS MS_PER_TASK [--trace=FILE] [FAULT]…
//
// Connects to the other ranks, runs a library schedule on the toy model and says how far it is:
// `pid N` first, `running` after the first step, `done` at the end. On failure the status, and its
// exit code. FILE's parts are appended to every tenth of a second. FAULT, say `2:kill@40`, is what
// goes wrong: toy_faults.h.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lower/facts.h"
#include "runtime/environment.h"
#include "runtime/exit_code.h"
#include "runtime/neighbours.h"
#include "runtime/run_trace.h"
#include "runtime/toy_work.h"
#include "runtime/transport/socket.h"
#include "runtime/transport/ucx.h"
#include "runtime/worker.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/runtime/toy_rank_main/toy_faults.h"
#include "verify/verify.h"

namespace ripeline {
namespace {

using core::Status;
using core::StatusCode;

constexpr int kMicrobatches = 8;
constexpr std::chrono::seconds kLimit{10};

struct Arguments {
  std::string_view schedule;
  int steps = 0;
  int ms_per_task = 0;
  std::string trace;  // empty: none
  std::vector<std::string_view> faults;
};

bool read(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0;
}

Status prove(std::string_view schedule, int ranks, verify::Verdict& verdict) {
  const auto text = spec::library_text(schedule);
  if (!text) return {StatusCode::invalid, "no schedule has this name: " + std::string(schedule)};
  spec::ElaborateOptions options;
  options.defines["ranks"] = ranks;
  const auto program = spec::compile({std::string(schedule), *text}, options);
  if (!program.ok()) return {StatusCode::invalid, "the schedule does not compile"};
  verdict = verify::verify(program.value());
  if (!verdict.proved) return {StatusCode::invalid, "the schedule is not proved"};
  return {};
}

Status run(const Arguments& arguments) {
  runtime::RankEnvironment environment;
  if (Status s = runtime::read_rank_environment(environment); !s.ok()) return s;
  ToyFaults faults;
  for (const std::string_view fault : arguments.faults) {
    if (!faults.add(fault, environment.rank))
      return {StatusCode::invalid, "no fault is called " + std::string(fault)};
  }
  faults.start();
  verify::Verdict verdict;
  if (Status s = prove(arguments.schedule, environment.ranks, verdict); !s.ok()) return s;
  const core::OwnedFacts storage = lower::facts_of(*verdict.proved);
  const core::ProgramFacts& facts = storage.facts();

  runtime::SocketOptions options;
  options.rank = environment.rank;
  options.ranks = environment.ranks;
  options.neighbours =
      runtime::neighbours_of(environment.rank, {.ranks = environment.ranks}, facts);
  options.program_hash = facts.hash;
  std::unique_ptr<runtime::Transport> transport;
  if (Status s = runtime::connect_in_folder(options, environment.folder, transport); !s.ok())
    return s;
  if (Status s = runtime::use_chosen_transport(transport); !s.ok()) return s;

  simulate::InterpretedArbiter arbiter(verdict.proved->program(), facts, environment.rank);
  runtime::ToyWork work({.stages = facts.stages, .width = 4, .seed = 1});
  runtime::InlineEngine engine(work, [&](const runtime::TaskInfo&) {
    faults.task();
    std::this_thread::sleep_for(std::chrono::milliseconds(arguments.ms_per_task));
  });
  runtime::Run run(*transport, {.limits = {.stall = std::chrono::seconds(30)}});
  runtime::RunTrace trace(arguments.trace, std::chrono::milliseconds(100));
  runtime::RankOptions rank_options;
  const bool traces = !arguments.trace.empty();
  if (traces) {
    rank_options.trace = trace.record();
    if (Status s = trace.open(facts, {.microbatches = kMicrobatches}, run); !s.ok()) return s;
  }
  runtime::Worker worker(arbiter, run, engine, std::move(rank_options));
  for (int step = 0; step < arguments.steps; ++step) {
    faults.step(step);
    runtime::StepReport report;
    if (Status s = worker.step(step, kMicrobatches, report); !s.ok()) return s;
    if (Status s = trace.step_ended(); !s.ok()) std::cerr << s.message() << std::endl;
    if (step == 0) std::cout << "running" << std::endl;
  }
  faults.end();
  if (Status s = trace.close(); !s.ok()) return s;
  if (Status s = run.finish(kLimit); !s.ok()) return s;
  return traces && environment.rank == 0 ? trace::finish_parts(arguments.trace) : Status();
}

}  // namespace
}  // namespace ripeline

constexpr std::string_view kTrace = "--trace=";

int main(int argc, char** argv) {
  std::cout << "pid " << getpid() << std::endl;
  ripeline::Arguments arguments;
  if (argc < 4 || !ripeline::read(argv[2], arguments.steps) ||
      !ripeline::read(argv[3], arguments.ms_per_task)) {
    std::cerr << "usage: toy_rank SCHEDULE STEPS MS_PER_TASK [--trace=FILE] [FAULT]...\n";
    return 2;
  }
  arguments.schedule = argv[1];
  for (const std::string_view argument : std::vector<std::string_view>(argv + 4, argv + argc)) {
    if (argument.starts_with(kTrace)) {
      arguments.trace = argument.substr(kTrace.size());
    } else {
      arguments.faults.push_back(argument);
    }
  }
  const ripeline::core::Status status = ripeline::run(arguments);
  if (!status.ok()) {
    std::cerr << status.message() << std::endl;
    return ripeline::runtime::exit_code_of(status.code());
  }
  std::cout << "done" << std::endl;
  return 0;
}
