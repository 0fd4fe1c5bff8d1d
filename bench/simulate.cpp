// Tasks per second of simulated runs, beside a plain simulator in Python, in one process's time.
//
//   bench_simulate [RANKS MICROBATCHES]
// 1F1B, 64 ranks and 512 microbatches, latency 0.05: executors under a generated arbiter, under the
// one that is made at run time, and with jitter; each the best of several runs, none of which
// records anything. All is one thread, and times are of the CPU, so that a loaded machine does not
// enter. Then 10,000 ranks and 256 microbatches once, with the memory that the process
// has taken. Then bench/plain_simulator.py, with PyTorch's own simulator if it is installed.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "one_f_one_b_64.h"
#include "simulate/interpreter.h"
#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "spec/elaborate.h"
#include "spec/library.h"

namespace ripeline {
namespace {

constexpr int kRuns = 7;

double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

spec::Program one_f_one_b(int ranks) {
  spec::ElaborateOptions options;
  options.defines = {{"ranks", ranks}};
  return spec::compile({"1f1b", *spec::library_text("1f1b")}, options).value();
}

simulate::Timing timing_of(const spec::Program& program, int microbatches, const char* jitter) {
  simulate::TimingOptions options;
  options.latency = 0.05;
  simulate::Timing timing;
  if (!simulate::Jitter::parse(jitter, options.jitter).ok() ||
      !simulate::Timing::make(program, microbatches, options, timing).ok()) {
    std::abort();
  }
  return timing;
}

struct Measured {
  double construct = 0;
  double run = 1e9;  // the best
  simulate::RunReport report;
};

Measured measure(const core::ProgramFacts& facts, const simulate::Simulator::MakeArbiter& make,
                 int microbatches, const simulate::Timing& timing, int runs) {
  Measured m;
  const double start = now();
  simulate::Simulator simulator(facts, make);
  m.construct = now() - start;
  for (int i = 0; i < runs; ++i) {
    const double begin = now();
    m.report = simulator.run(microbatches, timing, {});
    m.run = std::min(m.run, now() - begin);
    if (!m.report.status.ok() || m.report.stuck) std::abort();
  }
  return m;
}

void print(const char* what, const Measured& m) {
  std::printf(
      "%-34s %10lld tasks  %8.3f s  %8.2f M tasks/s  (construction %.3f s, makespan %.2f)\n", what,
      static_cast<long long>(m.report.tasks), m.run,
      static_cast<double>(m.report.tasks) / m.run / 1e6, m.construct,
      static_cast<double>(m.report.makespan.count()) / 1e6);
  std::fflush(stdout);
}

void small(int ranks, int microbatches) {
  const spec::Program program = one_f_one_b(ranks);
  const simulate::FactsStorage storage(program, {});
  const auto table = [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(program, storage.facts(), rank);
  };
  const simulate::Timing plain = timing_of(program, microbatches, "");
  const simulate::Timing jitter = timing_of(program, microbatches, "uniform=0.3");
  if (ranks == one_f_one_b_64::facts.ranks) {
    print("generated arbiter",
          measure(one_f_one_b_64::facts, one_f_one_b_64::make_arbiter, microbatches, plain, kRuns));
    print("generated, uniform jitter", measure(one_f_one_b_64::facts, one_f_one_b_64::make_arbiter,
                                               microbatches, jitter, kRuns));
  }
  print("interpreted (TableArbiter)", measure(storage.facts(), table, microbatches, plain, kRuns));
}

void large() {
  const spec::Program program = one_f_one_b(10'000);
  const double start = now();
  const simulate::FactsStorage storage(program, {});
  const simulate::Timing timing = timing_of(program, 256, "");
  const Measured m = measure(
      storage.facts(),
      [&](int rank) {
        return std::make_unique<simulate::TableArbiter>(program, storage.facts(), rank);
      },
      256, timing, 1);
  print("10,000 ranks, interpreted", m);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-34s %.2f s in all, %.2f GB at most\n", "", now() - start,
              static_cast<double>(usage.ru_maxrss) / 1e6);
  std::fflush(stdout);
}

}  // namespace
}  // namespace ripeline

int main(int argc, char** argv) {
  const int ranks = argc > 2 ? std::atoi(argv[1]) : 64;
  const int microbatches = argc > 2 ? std::atoi(argv[2]) : 512;
  ripeline::small(ranks, microbatches);
  if (argc <= 2) ripeline::large();
  const std::string command = "python3 " RIPELINE_SOURCE_DIR "/bench/plain_simulator.py " +
                              std::to_string(ranks) + " " + std::to_string(microbatches);
  return std::system(command.c_str()) == 0 ? 0 : 1;
}
