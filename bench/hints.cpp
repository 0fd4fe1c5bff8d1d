// Hints against the fixed order of the same memory: the table of docs/hints.md.
//
//   bench_hints [--seeds 100] [--ranks 8] [--microbatches 32] [--backward 2] [--latency 0.05]
//               [--clauses "notices; patience 1.5;"]
// Each number is the time of the fixed order over that of the hint, as geometric mean over seeds
// that all meet alike; above 1 the hint is faster. The last rows are the most that a rank held.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/hints.h"

namespace ripeline::bench {
namespace {

struct Column {
  std::string name;
  Memory memory;
  std::string dispatch;
  std::string clauses;
};

struct Options {
  int seeds = 100;
  Size size;
  double latency = 0.05;
  std::string clauses;
};

constexpr const char* kRn = "notices; patience 1.5; yield 0.9;";
constexpr const char* kFc = "forecasts; patience 1.5; yield 0.9;";

std::vector<Column> columns(const Options& options) {
  const std::string rn = options.clauses.empty() ? kRn : options.clauses;
  const std::string fc = options.clauses.empty() ? kFc : options.clauses;
  return {{"p-s BF", Memory::p_minus_s, "ready by bf", ""},
          {"RN", Memory::p_minus_s, "ready by waits", rn},
          {"FC", Memory::p_minus_s, "ready by waits", fc},
          {"max BF", Memory::max, "ready by bf", ""},
          {"FC", Memory::max, "ready by waits", fc},
          {"eager BF", Memory::eager, "ready by bf", ""},
          {"follow", Memory::eager, "ready by fixed", ""},
          {"RN", Memory::eager, "ready by waits", rn},
          {"H1 BFW", Memory::h1, "ready by bf", ""},
          {"RN", Memory::h1, "ready by waits", rn},
          {"H2 BFW", Memory::h2, "ready by bf", ""},
          {"follow", Memory::h2, "ready by waits", ""},
          {"RN", Memory::h2, "ready by waits", rn}};
}

// What a class is measured against.
Memory fixed_of(Memory memory) { return memory == Memory::max ? Memory::p_minus_s : memory; }

int run(const Options& options) {
  const std::vector<Column> wanted = columns(options);
  std::vector<std::unique_ptr<Policy>> fixed;
  std::vector<std::unique_ptr<Policy>> hints;
  for (const Column& column : wanted) {
    fixed.push_back(
        std::make_unique<Policy>(fixed_of(column.memory), options.size, "in order fixed", ""));
    hints.push_back(
        std::make_unique<Policy>(column.memory, options.size, column.dispatch, column.clauses));
  }
  std::printf("%-32s", "condition");
  for (const Column& column : wanted) std::printf(" %8s", column.name.c_str());
  std::printf("\n");
  std::vector<double> notices(wanted.size());
  std::vector<std::int64_t> held(wanted.size());  // most over ranks and runs
  std::vector<std::int64_t> fixed_held(wanted.size());
  const auto most = [](const Outcome& outcome) {
    return *std::max_element(outcome.peaks.begin(), outcome.peaks.end());
  };
  for (const Condition& condition : conditions()) {
    std::printf("%-32s", condition.name.c_str());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      double sum = 0;
      std::int64_t sent = 0;
      std::int64_t tasks = 0;
      for (int seed = 1; seed <= options.seeds; ++seed) {
        const auto s = static_cast<std::uint64_t>(seed);
        const Outcome a = fixed[i]->run(condition.jitter, s, options.latency);
        const Outcome b = hints[i]->run(condition.jitter, s, options.latency);
        if (!a.failure.empty() || !b.failure.empty()) {
          std::fprintf(stderr, "%s%s\n", a.failure.c_str(), b.failure.c_str());
          return 1;
        }
        sum += std::log(a.makespan / b.makespan);
        fixed_held[i] = std::max(fixed_held[i], most(a));
        held[i] = std::max(held[i], most(b));
        sent += b.notices;
        tasks += b.tasks;
      }
      notices[i] = static_cast<double>(sent) / static_cast<double>(tasks);
      std::printf(" %8.3f", std::exp(sum / options.seeds));
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  std::printf("%-32s", "notices per task, last condition");
  for (const double n : notices) std::printf(" %8.2f", n);
  std::printf("\n%-32s", "activations held, fixed order");
  for (const std::int64_t h : fixed_held) std::printf(" %8lld", static_cast<long long>(h));
  std::printf("\n%-32s", "activations held, hint");
  for (const std::int64_t h : held) std::printf(" %8lld", static_cast<long long>(h));
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace ripeline::bench

int main(int argc, char** argv) {
  ripeline::bench::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--seeds") options.seeds = std::atoi(value);
    if (name == "--ranks") options.size.ranks = std::atoi(value);
    if (name == "--microbatches") options.size.microbatches = std::atoi(value);
    if (name == "--backward") options.size.backward = std::atof(value);
    if (name == "--latency") options.latency = std::atof(value);
    if (name == "--clauses") options.clauses = value;
  }
  return ripeline::bench::run(options);
}
