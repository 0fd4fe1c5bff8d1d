// One rank of a toy run, for the launcher's tests:
//   toy_rank SCHEDULE STEPS MS_PER_TASK [--NAME=VALUE]… [RANK:SETTING=VALUE]… [FAULT]…
//
// Connects to the other ranks, runs a library schedule on the toy model and prints its progress:
// `pid N` first, `running` after the first step, `done` at the end. On failure it prints the status
// and exits with its code. FAULT, such as `2:kill@40`, is a fault of toy_faults.h. With SETTING one
// rank has another value of a setting that all ranks must share. The other options:
//   --trace=FILE            parts of the trace are appended every tenth of a second
//   --report=FILE           at the end rank N writes FILE-N
//   --silence=S --stall=S --connect-limit=S    limits, in seconds
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "files/new_file.h"
#include "lower/facts.h"
#include "runtime/environment.h"
#include "runtime/exit_code.h"
#include "runtime/network/socket.h"
#include "runtime/network/ucx.h"
#include "runtime/protocol/neighbours.h"
#include "runtime/run.h"
#include "runtime/run_trace.h"
#include "runtime/termination.h"
#include "runtime/toy_work.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"
#include "spec/library.h"
#include "tests/runtime/toy_rank_main/toy_faults.h"
#include "verify/verify.h"

namespace ripeline {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::chrono::seconds kLimit{10};

struct Arguments {
  int steps = 0;
  int ms_per_task = 0;
  std::string trace;   // empty if there is none
  std::string report;  // empty if there is none
  int silence = 30;    // seconds, as are the other limits
  int stall = 30;
  int connect_limit = 30;
  std::vector<std::string_view> rest;  // faults, and settings for single ranks
};

// The settings of this rank.
struct Settings {
  std::string schedule;
  int microbatches = 8;
  std::map<std::string, std::string, std::less<>> others = {
      {"seed", "1"}, {"lr", "0.1"}, {"clip", "1"}, {"data", "30 bytes with hash 9f"}};

  [[nodiscard]] runtime::Configuration configuration() const {
    runtime::Configuration all = {{"microbatches", std::to_string(microbatches)}};
    for (const auto& [name, value] : others) all.push_back({name, value});
    return all;
  }
};

bool read(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0;
}

// The schedule bf with two processes per rank, as its members or as replicas.
std::string bf_of_two(bool of_members) {
  return std::string("pipeline bf_of_two { param ranks = 2; microbatches any; stages ranks;\n") +
         "  place s on s; " +
         (of_members ? "tensor_parallel 2 { agree by intersection; }\n" : "data_parallel 2;\n") +
         "  op F forward { needs F at prev; acquires activation; " +
         (of_members ? "collectives 2; " : "") +
         "}\n  op B backward { needs F at here, B at next; releases activation; " +
         (of_members ? "collectives 2; }\n"
                     : "}\n  op G reduce once on comm { needs B at here of all; }\n") +
         "  resource activation per stage { capacity ranks - s; }\n"
         "  hint bf { rounds B, F; } dispatch ready by bf; }\n";
}

Status prove(std::string_view schedule, int processes, verify::Verdict& verdict) {
  const bool is_of_two = schedule == "bf_members" || schedule == "bf_replicas";
  const auto text = is_of_two ? bf_of_two(schedule == "bf_members") : spec::library_text(schedule);
  if (!text) return {StatusCode::invalid, "no schedule has this name: " + std::string(schedule)};
  spec::ElaborateOptions options;
  options.defines["ranks"] = is_of_two ? processes / 2 : processes;
  const auto program = spec::compile({std::string(schedule), *text}, options);
  if (!program.ok()) return {StatusCode::invalid, "the schedule does not compile"};
  verdict = verify::verify(program.value());
  if (!verdict.proved) return {StatusCode::invalid, "the schedule is not proved"};
  return {};
}

// Reads a setting of one rank such as `2:seed=7`. Returns false if the text is not one.
bool set(std::string_view text, int rank, Settings& settings) {
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.find('=');
  if (colon == text.npos || equals == text.npos || colon > equals) return false;
  const std::string_view name = text.substr(colon + 1, equals - colon - 1);
  const std::string value(text.substr(equals + 1));
  if (text.substr(0, colon) != std::to_string(rank)) return true;
  if (name == "schedule") {
    settings.schedule = value;
  } else if (name == "microbatches") {
    return read(value, settings.microbatches);
  } else {
    settings.others[std::string(name)] = value;
  }
  return true;
}

// Writes a report that is longer than one page of a file system.
Status write_report(const std::string& path, int rank) {
  if (path.empty()) return {};
  std::string text;
  for (int line = 0; line < 500; ++line) text += "a line of the report\n";
  return files::write_file(path + "-" + std::to_string(rank), text);
}

class ToyRank {
 public:
  ToyRank(const Arguments& arguments, const runtime::RankEnvironment& environment,
          const Settings& settings, ToyFaults& faults, runtime::Termination& termination)
      : arguments_(arguments),
        environment_(environment),
        settings_(settings),
        faults_(faults),
        termination_(termination) {}

  Status run() {
    verify::Verdict verdict;
    if (Status s = prove(settings_.schedule, environment_.ranks, verdict); !s.ok()) return s;
    const core::OwnedFacts storage = lower::facts_of(*verdict.proved);
    const core::ProgramFacts& facts = storage.facts();
    std::unique_ptr<runtime::Transport> transport;
    if (Status s = connect(facts, transport); !s.ok()) return s;
    faults_.connected({transport.get(), &facts});
    const core::Layout layout = core::layout_of(facts);
    simulate::InterpretedArbiter arbiter(verdict.proved->program(), facts,
                                         layout.at(environment_.rank).rank);
    runtime::Run run(*transport, {.layout = layout,
                                  .limits = {.silence = std::chrono::seconds(arguments_.silence),
                                             .stall = std::chrono::seconds(arguments_.stall)},
                                  .termination = &termination_});
    Status status = train(facts, arbiter, run);
    status = status.ok() ? run.finish(kLimit) : run.fail(std::move(status));
    if (!status.ok() || arguments_.trace.empty() || environment_.rank != 0) return status;
    return trace::finish_parts(arguments_.trace);
  }

 private:
  Status connect(const core::ProgramFacts& facts, std::unique_ptr<runtime::Transport>& transport) {
    runtime::network::SocketOptions options;
    options.rank = environment_.rank;
    options.ranks = environment_.ranks;
    options.neighbours =
        runtime::protocol::neighbours_of(environment_.rank, core::layout_of(facts), facts);
    options.program_hash = facts.hash;
    options.configuration = settings_.configuration();
    options.connect_limit = std::chrono::seconds(arguments_.connect_limit);
    options.termination = &termination_;
    Status status = runtime::network::connect_in_folder(options, environment_.folder, transport);
    if (!status.ok()) return status;
    return runtime::network::use_chosen_transport(
        {.connect_limit = options.connect_limit, .termination = &termination_}, transport);
  }

  Status train(const core::ProgramFacts& facts, core::Arbiter& arbiter, runtime::Run& run) {
    runtime::ToyWork work({.stages = facts.stages, .width = 4, .seed = 1});
    runtime::InlineEngine engine(work, [&](const runtime::TaskInfo&) {
      faults_.task();
      std::this_thread::sleep_for(std::chrono::milliseconds(arguments_.ms_per_task));
    });
    runtime::RunTrace trace(arguments_.trace, std::chrono::milliseconds(100));
    runtime::protocol::RankOptions options;
    if (!arguments_.trace.empty()) {
      options.trace = trace.record();
      if (Status s = trace.open(facts, {.microbatches = settings_.microbatches}, run); !s.ok())
        return s;
    }
    runtime::protocol::Rank rank(arbiter, run.layout(), run.self(), std::move(options));
    for (int step = 0; step < arguments_.steps; ++step) {
      faults_.step(step);
      if (Status s = run.step(rank, engine, step, settings_.microbatches); !s.ok()) return s;
      if (Status s = trace.step_ended(); !s.ok())
        std::cout << "without a trace: " << s.message() << std::endl;
      if (step == 0) std::cout << "running" << std::endl;
    }
    faults_.end();
    if (Status s = trace.close(); !s.ok()) return s;
    return write_report(arguments_.report, environment_.rank);
  }

  const Arguments& arguments_;
  const runtime::RankEnvironment& environment_;
  const Settings& settings_;
  ToyFaults& faults_;
  runtime::Termination& termination_;
};

// Reports the status and returns the exit code.
int end_with(const Status& status, int code) {
  if (status.ok()) {
    std::cout << "done" << std::endl;
  } else {
    std::cerr << status.message() << std::endl;
  }
  return code;
}

int run(std::string_view schedule, const Arguments& arguments) {
  runtime::RankEnvironment environment;
  Status status = runtime::read_rank_environment(environment);
  Settings settings{.schedule = std::string(schedule)};
  ToyFaults faults;
  for (const std::string_view text : arguments.rest) {
    if (status.ok() && !set(text, environment.rank, settings) &&
        !faults.add(text, environment.rank))
      status = {StatusCode::invalid, "no fault is called " + std::string(text)};
  }
  if (!status.ok()) return end_with(status, runtime::exit_code_of(status.code()));
  faults.start();
  runtime::Termination termination;
  std::cout << "pid " << getpid() << std::endl;  // from now on the rank can say why it ends
  status = ToyRank(arguments, environment, settings, faults, termination).run();
  return end_with(status, termination.exit_code_of(status));
}

bool read_option(std::string_view text, Arguments& arguments) {
  const std::size_t equals = text.find('=');
  if (!text.starts_with("--") || equals == text.npos) return false;
  const std::string_view name = text.substr(2, equals - 2);
  const std::string_view value = text.substr(equals + 1);
  if (name == "trace") {
    arguments.trace = value;
  } else if (name == "report") {
    arguments.report = value;
  } else {
    return name == "silence" ? read(value, arguments.silence)
           : name == "stall" ? read(value, arguments.stall)
                             : name == "connect-limit" && read(value, arguments.connect_limit);
  }
  return true;
}

}  // namespace
}  // namespace ripeline

int main(int argc, char** argv) {
  ripeline::Arguments arguments;
  bool is_read = argc >= 4 && ripeline::read(argv[2], arguments.steps) &&
                 ripeline::read(argv[3], arguments.ms_per_task);
  for (int i = 4; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("--")) {
      is_read = is_read && ripeline::read_option(argv[i], arguments);
    } else {
      arguments.rest.emplace_back(argv[i]);
    }
  }
  if (is_read) return ripeline::run(argv[1], arguments);
  std::cerr << "usage: toy_rank SCHEDULE STEPS MS_PER_TASK [--NAME=VALUE]... "
               "[RANK:SETTING=VALUE]... [FAULT]...\n";
  return 2;
}
