// Compares the speed of simulated runs with plain simulators in Python. See --help.
//
// 1F1B runs under a generated arbiter (with 64 ranks), under the arbiter that is made at run time,
// and with jitter. Each number is the best of several runs, which record nothing. All runs use one
// thread, and times are CPU times, so that a busy machine hardly matters. A run of many ranks
// follows, with the memory that the process has used. bench/plain_simulator.py also runs PyTorch's
// simulator if python3, or the Python that RIPELINE_PYTORCH names, has PyTorch.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "files/new_file.h"
#include "lower/facts.h"
#include "one_f_one_b_64.h"
#include "simulate/interpreter.h"
#include "simulate/simulator.h"
#include "simulate/table_arbiter.h"
#include "spec/elaborate.h"
#include "spec/library.h"

namespace ripeline::bench {
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
  double run = 1e9;  // the seconds of the fastest run
  simulate::RunReport report;
};

Measured measure(const core::ProgramFacts& facts, const simulate::Simulator::MakeArbiter& make,
                 int microbatches, const simulate::Timing& timing, int runs) {
  Measured m;
  simulate::Simulator simulator(facts, make);
  for (int i = 0; i < runs; ++i) {
    const double begin = now();
    m.report = simulator.run(microbatches, timing, {});
    m.run = std::min(m.run, now() - begin);
    if (!m.report.status.ok() || m.report.stuck) std::abort();
  }
  return m;
}

struct Options {
  int ranks = 64;
  int microbatches = 512;
  int many_ranks = 10'000;
  std::string json;
};

struct Row {
  std::string what;
  std::int64_t tasks = 0;
  double seconds = 0;
  [[nodiscard]] double per_second() const { return static_cast<double>(tasks) / seconds; }
};

Row row(std::string what, const Measured& m) { return {std::move(what), m.report.tasks, m.run}; }

std::vector<Row> few_ranks(const Options& options) {
  const spec::Program program = one_f_one_b(options.ranks);
  const core::OwnedFacts storage = lower::facts_of(program);
  const auto table = [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(program, storage.facts(), rank);
  };
  const int m = options.microbatches;
  const simulate::Timing plain = timing_of(program, m, "");
  const simulate::Timing jitter = timing_of(program, m, "uniform=0.3");
  std::vector<Row> rows;
  if (options.ranks == one_f_one_b_64::facts.ranks) {
    const auto generated = [&](const simulate::Timing& timing) {
      return measure(one_f_one_b_64::facts, one_f_one_b_64::make_arbiter, m, timing, kRuns);
    };
    rows.push_back(row("generated arbiter", generated(plain)));
    rows.push_back(row("generated, tasks +-30 %", generated(jitter)));
  }
  rows.push_back(row("interpreted", measure(storage.facts(), table, m, plain, kRuns)));
  return rows;
}

std::string interpreter() {
  const char* with_pytorch = std::getenv("RIPELINE_PYTORCH");
  return with_pytorch == nullptr ? "python3" : with_pytorch;
}

// The rows that plain_simulator.py prints; empty if it fails.
std::vector<Row> python(const Options& options) {
  const std::string command =
      fmt::format("timeout 300 '{}' '{}/bench/plain_simulator.py' {} {}", interpreter(),
                  RIPELINE_SOURCE_DIR, options.ranks, options.microbatches);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), pipe) != nullptr) {
    text += part.data();
  }
  if (pclose(pipe) != 0) return {};
  const std::map<std::string, std::string> names = {{"python", "plain Python"},
                                                    {"pytorch", "PyTorch's simulator"}};
  std::vector<Row> rows;
  std::istringstream lines(text);
  Row next;
  for (double makespan = 0; lines >> next.what >> next.tasks >> next.seconds >> makespan;) {
    rows.push_back({names.at(next.what), next.tasks, next.seconds});
  }
  return rows;
}

struct Many {
  Row row;
  double seconds = 0;  // including the compilation of the program
  double gigabytes = 0;
};

Many many_ranks(const Options& options) {
  constexpr int kMicrobatches = 256;
  const double start = now();
  const spec::Program program = one_f_one_b(options.many_ranks);
  const core::OwnedFacts storage = lower::facts_of(program);
  const simulate::Timing timing = timing_of(program, kMicrobatches, "");
  const auto table = [&](int rank) {
    return std::make_unique<simulate::TableArbiter>(program, storage.facts(), rank);
  };
  const Measured m = measure(storage.facts(), table, kMicrobatches, timing, 1);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {
      row(fmt::format("{} ranks, {} microbatches, interpreted", options.many_ranks, kMicrobatches),
          m),
      now() - start, static_cast<double>(usage.ru_maxrss) / 1e6};
}

nlohmann::json json_of(const Row& row) {
  return {{"what", row.what},
          {"tasks", row.tasks},
          {"seconds", row.seconds},
          {"tasks_per_second", row.per_second()}};
}

int run(const Options& options) {
  std::vector<Row> rows = few_ranks(options);
  const std::vector<Row> others = python(options);
  rows.insert(rows.end(), others.begin(), others.end());
  fmt::print("1F1B, {} ranks, {} microbatches; times of the CPU, each the best of several runs\n",
             options.ranks, options.microbatches);
  fmt::print("{:<26} {:>14} {:>16}\n", "", "million tasks/s", "x plain Python");
  nlohmann::json json = {{"ranks", options.ranks}, {"microbatches", options.microbatches}};
  for (const Row& row : rows) {
    if (row.tasks == 0) {
      fmt::print("{:<26} not installed\n", row.what);
      continue;
    }
    fmt::print("{:<26} {:>15.2f}", row.what, row.per_second() / 1e6);
    if (!others.empty()) fmt::print(" {:>16.1f}", row.per_second() / others.front().per_second());
    fmt::print("\n");
    json["rows"].push_back(json_of(row));
  }
  std::fflush(stdout);
  const Many many = many_ranks(options);
  fmt::print("{}: {} tasks, {:.2f} million/s; {:.2f} s in all, {:.2f} GB at most\n", many.row.what,
             many.row.tasks, many.row.per_second() / 1e6, many.seconds, many.gigabytes);
  json["many"] = json_of(many.row);
  json["many"]["seconds_in_all"] = many.seconds;
  json["many"]["gigabytes"] = many.gigabytes;
  if (!options.json.empty()) {
    const auto written = ripeline::files::write_file(options.json, json.dump(2) + "\n");
    if (!written.ok()) {
      fmt::print(stderr, "bench_simulate: {}\n", written.message());
      return 1;
    }
  }
  if (!others.empty()) return 0;
  fmt::print(stderr, "bench_simulate: bench/plain_simulator.py, run by {}, failed\n",
             interpreter());
  return 1;
}

}  // namespace
}  // namespace ripeline::bench

int main(int argc, char** argv) {
  ripeline::bench::Options options;
  CLI::App app("Tasks per second of simulated 1F1B, beside plain simulators in Python.");
  app.footer("RIPELINE_PYTORCH names a Python that has PyTorch, to measure its simulator too.");
  app.add_option("--ranks", options.ranks, "at 64 a generated arbiter is measured, too (64)")
      ->check(CLI::Range(2, 4096));
  app.add_option("--microbatches", options.microbatches, "of each run (512)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--many", options.many_ranks, "ranks of one more run, of 256 microbatches (10000)")
      ->check(CLI::Range(2, 100'000));
  app.add_option("--json", options.json, "also write the figures to this file");
  CLI11_PARSE(app, argc, argv);
  return ripeline::bench::run(options);
}
