// gpt: a small GPT, trained as a pipeline. This file determines the process's rank and runs it.
#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "configuration.h"
#include "options.h"
#include "rank.h"
#include "report.h"
#include "runtime/exit_code.h"
#include "runtime/network/local.h"
#include "runtime/run.h"
#include "runtime/termination.h"
#include "runtime/torch/train.h"

namespace gpt {
namespace {

using ripeline::core::Status;
using ripeline::runtime::exit_code_of;
using ripeline::runtime::Termination;
using ripeline::runtime::TorchDevice;
using ripeline::runtime::Transport;

// Requests deterministic kernels: sums without a fixed order, as in attention's backward on a GPU,
// differ in their last bits between runs. Call this before LibTorch loads its GPU part, which reads
// the variable. With warn_only, attention is not deterministic (attention_backward.cu, 2.11).
void ask_for_deterministic_kernels() {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

// Runs the rank and prints its error. Returns the exit code of the status, or 1 if --check found a
// difference. If `termination` is null, SIGTERM ends the process at once.
int run_rank(const Options& options, Transport& transport, const std::string& address,
             TorchDevice& device, Termination* termination) {
  bool passed = true;
  const ripeline::core::ProgramFacts& facts = options.schedules.front()->facts;
  ripeline::runtime::Run run(transport,
                             {.layout = ripeline::core::layout_of(facts),
                              .limits = {.silence = options.silence, .stall = options.stall},
                              .termination = termination});
  const Rank rank{.run = run, .address = address, .device = device};
  Status status = options.compares() ? compare(options, rank) : train(options, rank, passed);
  status = status.ok() ? run.finish(options.stall) : run.fail(std::move(status));
  if (!status.ok()) {
    std::fprintf(stderr, "gpt: rank %d: %s\n", run.self(), status.message().c_str());
  }
  if (status.ok() && !passed) return 1;
  return termination == nullptr ? exit_code_of(status.code()) : termination->exit_code_of(status);
}

int run_threads(const Options& options) {
  const int ranks = layout_of(options.schedules.front()->facts).processes();
  auto transports = ripeline::runtime::network::make_local_group(ranks);
  std::vector<int> codes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < codes.size(); ++rank) {
    threads.emplace_back([&options, &transports, &codes, rank] {
      at::set_num_threads(1);
      std::unique_ptr<TorchDevice> device;
      std::unique_ptr<Transport> transport = std::move(transports[rank]);
      Status s = TorchDevice::open(options.device, static_cast<int>(rank), device);
      if (s.ok()) s = device->carry(transport, options.connect_limit, nullptr);
      if (!s.ok()) {
        std::fprintf(stderr, "gpt: %s\n", s.message().c_str());
        codes[rank] = exit_code_of(s.code());
        return;
      }
      codes[rank] = run_rank(options, *transport, "", *device, nullptr);
      transport.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int code : codes) {
    if (code != 0) return code;
  }
  return 0;
}

int run_process(const Options& options) {
  if (!ripeline::runtime::is_rank()) {
    const ripeline::core::Layout layout = layout_of(options.schedules.front()->facts);
    std::fprintf(stderr,
                 "gpt: this is one process; schedule %s has %s. Start them all:\n"
                 "  ripeline launch -n %d -- ./gpt …\n"
                 "or give --ranks-as-threads. --help has examples.\n",
                 std::string(options.schedules.front()->name).c_str(), layout.text().c_str(),
                 layout.processes());
    return 2;
  }
  Termination termination;
  ripeline::runtime::RankEnvironment environment;
  std::unique_ptr<TorchDevice> device;
  std::unique_ptr<Transport> transport;
  Status found = read_rank_environment(environment);
  if (found.ok()) found = TorchDevice::open(options.device, environment.local_rank, device);
  if (!found.ok()) {
    std::fprintf(stderr, "gpt: %s\n", found.message().c_str());
    return exit_code_of(found.code());
  }
  if (Status status = join_run(options.schedules.front()->facts, environment, transport,
                               configuration_of(options),
                               {.connect_limit = options.connect_limit,
                                .termination = &termination,
                                .device = device.get()});
      !status.ok()) {
    std::fprintf(stderr, "gpt: %s\n", status.message().c_str());
    return termination.exit_code_of(status);
  }
  return run_rank(options, *transport, environment.address, *device, &termination);
}

}  // namespace
}  // namespace gpt

int main(int argc, char** argv) {
  gpt::Options options;
  int exit_code = 0;
  if (!gpt::read_options(argc, argv, options, exit_code)) return exit_code;
  if (options.check > 0) gpt::ask_for_deterministic_kernels();
  return options.threads ? gpt::run_threads(options) : gpt::run_process(options);
}
