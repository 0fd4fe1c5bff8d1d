#include "tests/torch/pipeline.h"

#include <ATen/Parallel.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "lower/facts.h"
#include "runtime/network/local.h"
#include "simulate/interpreter.h"
#include "spec/elaborate.h"

namespace ripeline::testing_support {
namespace {

spec::Program compiled(const std::string& text) {
  const spec::Source source{"test.ripe", text};
  spec::Result<spec::Program> result = spec::compile(source);
  if (!result.ok()) {
    std::fputs(spec::render(source, result.errors()).c_str(), stderr);
    std::abort();
  }
  return std::move(result).value();
}

}  // namespace

struct Pipeline::Parts {
  explicit Parts(const std::string& text)
      : program(compiled(text)), storage(lower::facts_of(program)) {}
  spec::Program program;
  core::OwnedFacts storage;
};

Pipeline::Pipeline(const std::string& text) : parts_(std::make_unique<Parts>(text)) {}
Pipeline::~Pipeline() = default;

const core::ProgramFacts& Pipeline::facts() const { return parts_->storage.facts(); }

std::unique_ptr<core::Arbiter> Pipeline::make_arbiter(int rank) const {
  return std::make_unique<simulate::InterpretedArbiter>(parts_->program, facts(), rank);
}

std::vector<core::Status> Pipeline::run(const Body& body, const Prepare& prepare) const {
  const core::Layout layout = core::layout_of(facts());
  const auto processes = static_cast<std::size_t>(layout.processes());
  auto transports = runtime::network::make_local_group(layout.processes());
  std::vector<core::Status> statuses(processes);
  std::vector<std::thread> threads;
  for (std::size_t process = 0; process < processes; ++process) {
    threads.emplace_back([this, layout, process, &body, &prepare, &transports, &statuses] {
      at::set_num_threads(1);
      if (prepare) {
        statuses[process] = prepare(static_cast<int>(process), transports[process]);
        if (!statuses[process].ok()) return transports[process].reset();
      }
      const std::unique_ptr<core::Arbiter> arbiter =
          make_arbiter(layout.at(static_cast<int>(process)).rank);
      runtime::Run run(*transports[process],
                       {.layout = layout, .limits = {.stall = std::chrono::seconds(60)}});
      statuses[process] = body(*arbiter, run);
      if (statuses[process].ok()) statuses[process] = run.finish(std::chrono::seconds(20));
      transports[process].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

core::Status wait_for_all(runtime::Run& run) {
  std::vector<runtime::Blob> all;
  return run.gather("all are here", {}, all);
}

std::string chain(int ranks, bool sequential) {
  const std::string order = sequential ? " sequential" : "";
  return "pipeline chain { param ranks = " + std::to_string(ranks) +
         "; microbatches any; stages ranks; place s on s;\n"
         "  op F forward" +
         order +
         " { cost 1; needs F at prev; acquires activation; }\n"
         "  op B backward" +
         order +
         " { cost 2; needs F at here, B at next; releases activation; }\n"
         "  resource activation per stage { capacity ranks - s; }\n"
         "  hint bf { rounds B, F; } dispatch ready by bf; }\n";
}

std::string split_chain(int ranks) {
  return "pipeline split { param ranks = " + std::to_string(ranks) +
         "; microbatches any; stages ranks; place s on s;\n"
         "  op F forward sequential { cost 1; needs F at prev; acquires activation; }\n"
         "  op I backward input sequential { cost 1; needs F at here, I at next; }\n"
         "  op W backward weight sequential { cost 1; needs I at here; releases activation; }\n"
         "  resource activation per stage { capacity ranks - s; }\n"
         "  hint bfw { rounds I, F; fill W; } dispatch ready by bfw; }\n";
}

std::string recomputing_chain(int ranks) {
  return "pipeline again { param ranks = " + std::to_string(ranks) +
         "; microbatches any; stages ranks; place s on s;\n"
         "  op F forward sequential { cost 1; needs F at prev; acquires activation; }\n"
         "  op R recompute sequential { cost 1; needs F at here, B at next; acquires graph; }\n"
         "  op B backward sequential { cost 2; needs R at here, B at next;\n"
         "    releases activation; releases graph; }\n"
         "  resource activation per stage { capacity ranks - s; }\n"
         "  resource graph per rank { capacity 1; }\n"
         "  hint bf { prefer B, R, F; } dispatch ready by bf; }\n";
}

std::string offloading_chain(int ranks, const std::string& way) {
  const bool is_half = way == "half";
  const auto on = [&](const char* engine) {
    return (way == "inline" ? "" : std::string(" on ") + engine) +
           (is_half ? " on m where m % 2 == 0" : "");
  };
  std::string backward;
  if (way == "split") {
    backward =
        "  op I backward input sequential { cost 1; needs L at here, I at next; }\n"
        "  op W backward weight sequential { cost 1; needs I at here;\n";
  } else if (way == "recompute") {
    backward =
        "  op R recompute sequential { cost 1; needs L at here; }\n"
        "  op B backward sequential { cost 2; needs R at here;\n";
  } else {
    const bool has_gradient = way == "early" || way == "both" || is_half;
    backward = std::string("  op B backward sequential { cost 2; needs L at here") +
               (is_half ? ", F at here" : "") + (has_gradient ? ", B at next" : "") + ";\n";
  }
  const bool waits = way == "whole" || way == "both" || way == "recompute" || way == "inline";
  return "pipeline away { param ranks = " + std::to_string(ranks) +
         "; microbatches any; stages ranks; place s on s;\n"
         "  op F forward sequential { cost 1; needs F at prev; acquires activation;\n"
         "    acquires pinned; }\n"
         "  op O offload sequential" +
         on("copy_out") +
         " { cost 1; needs F at here; releases activation; }\n"
         "  op L reload sequential" +
         on("copy_in") + " { cost 1; needs O at here" + (waits ? ", B at next" : "") +
         ";\n    acquires activation leaving 1; }\n" + backward +
         "    releases activation; releases pinned; }\n"
         "  resource activation per rank { capacity " +
         (is_half ? "8" : "3") +
         "; }\n"
         "  resource pinned per rank { capacity 8; }\n"
         "  dispatch ready; }\n";
}

std::string v(int ranks) {
  return "pipeline v { param ranks = " + std::to_string(ranks) +
         "; microbatches any; stages 2 * ranks; place s on s < ranks ? s : 2 * ranks - 1 - s;\n"
         "  op F forward { cost 1; needs F at prev;\n"
         "    acquires activation leaving chunks - 1 - chunk; }\n"
         "  op B backward { cost 2; needs F at here, B at next; releases activation; }\n"
         "  resource activation per rank { capacity 2 * ranks; }\n"
         "  hint bf { rounds B, F; } dispatch ready by bf; }\n";
}

}  // namespace ripeline::testing_support
