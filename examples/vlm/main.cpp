// vlm: vision and text encoders that join in a decoder, trained as a pipeline. This file determines
// the process's rank and runs it.
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "batches.h"
#include "examples.h"
#include "options.h"
#include "runtime/exit_code.h"
#include "runtime/run.h"
#include "runtime/termination.h"
#include "runtime/torch/train.h"
#include "train.h"

namespace vlm {
namespace {

using ripeline::core::Status;

int exit_code_after(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "vlm: %s\n", status.message().c_str());
  return ripeline::runtime::exit_code_of(status.code());
}

int make_data(const Options& options) {
  const Status status =
      write_examples(options.make_data, make_examples(options.count, options.seed));
  if (status.ok()) {
    std::printf("%s: %d images and captions.txt, seed %llu\n", options.make_data.c_str(),
                options.count, static_cast<unsigned long long>(options.seed));
  }
  return exit_code_after(status);
}

// The settings that must be equal on all ranks, since loss and gradients depend on them.
ripeline::runtime::Configuration configuration_of(const Options& options, const Batches& batches) {
  const auto text_of = [](auto value) {
    std::ostringstream text;
    text.precision(17);
    text << value;
    return text.str();
  };
  std::string names;  // the schedules'; start-up also compares the first program's hash
  for (const Schedule* schedule : options.schedules) names += std::string(schedule->name) + ' ';
  return {{"schedule", names},
          {"steps", text_of(options.steps)},
          {"microbatches", text_of(options.microbatches)},
          {"batch", text_of(options.batch)},
          {"lr", text_of(options.rate)},
          {"clip", text_of(options.clip)},
          {"seed", text_of(options.seed)},
          {"data", text_of(batches.size()) + " images with hash " + text_of(batches.digest())},
          {"check", text_of(options.check)},
          {"sleep", text_of(options.sleep.count())}};
}

// Runs the rank, prints its error, and returns the exit code: the status's, or 1 if --check failed.
int run_rank(const Options& options, const std::shared_ptr<const Batches>& batches) {
  ripeline::runtime::Termination termination;
  ripeline::runtime::RankEnvironment environment;
  std::unique_ptr<ripeline::runtime::Transport> transport;
  Status status = join_run(options.schedules.front()->facts, environment, transport,
                           configuration_of(options, *batches), {.termination = &termination});
  bool passed = true;
  if (status.ok()) {
    ripeline::runtime::Run run(*transport, {.termination = &termination});
    status =
        options.compares() ? compare(options, run, batches) : train(options, run, batches, passed);
    status = status.ok() ? run.finish(std::chrono::minutes(1)) : run.fail(std::move(status));
  }
  if (!status.ok()) {
    std::fprintf(stderr, "vlm: rank %d: %s\n", environment.rank, status.message().c_str());
  }
  return status.ok() && !passed ? 1 : termination.exit_code_of(status);
}

int run(const Options& options) {
  if (!options.make_data.empty()) return make_data(options);
  if (!ripeline::runtime::is_rank()) {
    std::fprintf(stderr,
                 "vlm: this is one process of four. Start them all:\n"
                 "  ripeline launch -n 4 -- ./vlm …\n"
                 "--help has examples.\n");
    return 2;
  }
  std::vector<Example> examples;
  if (options.data.empty()) {
    examples = make_examples(options.count, options.seed);
  } else if (const Status status = read_examples(options.data, examples); !status.ok()) {
    return exit_code_after(status);
  }
  return run_rank(options,
                  std::make_shared<Batches>(std::move(examples), options.batch, options.seed));
}

}  // namespace
}  // namespace vlm

int main(int argc, char** argv) {
  vlm::Options options;
  int exit_code = 0;
  if (!vlm::read_options(argc, argv, options, exit_code)) return exit_code;
  return vlm::run(options);
}
