// inject_faults injects any number of faults, of all kinds or of one kind. See docs/testing.md.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tests/runtime/faults/fault_kinds.h"
#include "tests/runtime/faults/fault_run.h"

namespace ripeline::faults {
namespace {

constexpr const char* kUsage =
    R"(usage: inject_faults [--faults N] [--seed SEED] [--kind NAME] [--jobs J]
Injects N faults (1000) into runs of toy_rank, all kinds in turn or those of one, J runs at a time
(6), and prints for each kind what was seen. Ranks and moments are drawn from the seed, which is
printed. exit 1: a run hung, left something behind or ended otherwise than it should, or fewer than
99 of 100 survivors named the culprit; 2: bad arguments
)";

struct Arguments {
  std::uint64_t faults = 1000;
  std::uint64_t seed = std::random_device{}();
  std::uint64_t jobs = 6;
  std::string_view kind;
};

bool number(std::string_view text, std::uint64_t& value) {
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return false;
  value = std::strtoull(std::string(text).c_str(), nullptr, 10);
  return true;
}

bool read(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string_view value = argv[i + 1];
    if (name == "--kind")
      arguments.kind = value;
    else if (name == "--faults" ? !number(value, arguments.faults)
             : name == "--jobs" ? !number(value, arguments.jobs)
                                : name != "--seed" || !number(value, arguments.seed))
      return false;
  }
  return argc % 2 == 1;
}

// The results of one kind.
struct Row {
  std::uint64_t runs = 0;
  std::uint64_t skipped = 0;
  std::uint64_t wrong = 0;
  std::uint64_t hung = 0;
  std::uint64_t left = 0;
  double longest = 0;  // seconds
  int survivors = 0;
  int named = 0;

  void add(const FaultReport& report) {
    add(Row{.runs = report.skipped.empty() ? 1U : 0U,
            .skipped = report.skipped.empty() ? 0U : 1U,
            .wrong = report.problem.empty() ? 0U : 1U,
            .hung = report.hung ? 1U : 0U,
            .left = report.left ? 1U : 0U,
            .longest = report.seconds,
            .survivors = report.survivors,
            .named = report.named});
  }
  void add(const Row& other) {
    runs += other.runs;
    skipped += other.skipped;
    wrong += other.wrong;
    hung += other.hung;
    left += other.left;
    longest = std::max(longest, other.longest);
    survivors += other.survivors;
    named += other.named;
  }
  // Up to one survivor in a hundred, but always one, may fail to name the culprit.
  [[nodiscard]] bool passes() const {
    return wrong == 0 && survivors - named <= std::max(1, survivors / 100);
  }
};

void print(std::string_view name, const Row& row) {
  std::cout << fmt::format("{:<54} {:>5} {:>5} {:>5} {:>5} {:>7.1f} s", name, row.runs, row.wrong,
                           row.hung, row.left, row.longest);
  if (row.survivors > 0) std::cout << fmt::format("   {} of {}", row.named, row.survivors);
  if (row.skipped > 0) std::cout << fmt::format("   {} skipped", row.skipped);
  std::cout << std::endl;
}

class Injection {
 public:
  Injection(const Arguments& arguments, std::vector<const FaultKind*> kinds)
      : arguments_(arguments), kinds_(std::move(kinds)), rows_(kinds_.size()) {}

  int run() {
    std::cout << "seed " << arguments_.seed << '\n';
    if (!sees_shared_memory())
      std::cout << "nothing can be mounted here: what is left in /dev/shm is not seen\n";
    std::vector<std::thread> threads;
    for (std::uint64_t job = 0; job < std::max<std::uint64_t>(1, arguments_.jobs); ++job)
      threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    return summary();
  }

 private:
  void work() {
    for (std::uint64_t i = next_++; i < arguments_.faults; i = next_++) {
      const std::size_t kind = i % kinds_.size();
      const std::uint64_t seed = arguments_.seed + i;
      const FaultReport report = inject(*kinds_[kind], seed);
      const std::lock_guard lock(mutex_);
      rows_[kind].add(report);
      if (report.problem.empty() && report.unnamed.empty() && report.skipped.empty()) continue;
      std::cout << fmt::format("inject_faults --faults 1 --seed {} --kind {}\n{}{}{}{}", seed,
                               kinds_[kind]->name, report.skipped,
                               report.skipped.empty() ? "" : "\n", report.unnamed, report.problem)
                << std::endl;
    }
  }

  [[nodiscard]] int summary() const {
    std::cout << fmt::format("{:<54} {:>5} {:>5} {:>5} {:>5} {:>9}   named by survivors\n", "kind",
                             "runs", "wrong", "hung", "left", "longest");
    Row total;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      if (rows_[kind].runs + rows_[kind].skipped > 0) print(kinds_[kind]->name, rows_[kind]);
      total.add(rows_[kind]);
    }
    print("all", total);
    return total.passes() ? 0 : 1;
  }

  const Arguments& arguments_;
  const std::vector<const FaultKind*> kinds_;
  std::atomic<std::uint64_t> next_ = 0;
  std::mutex mutex_;  // guards the rows and the output while threads run
  std::vector<Row> rows_;
};

int run(const Arguments& arguments) {
  std::vector<const FaultKind*> kinds;
  for (const FaultKind& kind : fault_kinds()) {
    if (arguments.kind.empty() || arguments.kind == kind.name) kinds.push_back(&kind);
  }
  if (!kinds.empty()) return Injection(arguments, std::move(kinds)).run();
  std::cerr << "no kind of fault is called " << arguments.kind << "; there are:\n";
  for (const FaultKind& kind : fault_kinds()) std::cerr << "  " << kind.name << '\n';
  return 2;
}

}  // namespace
}  // namespace ripeline::faults

int main(int argc, char** argv) {
  ripeline::faults::Arguments arguments;
  if (ripeline::faults::read(argc, argv, arguments)) return ripeline::faults::run(arguments);
  std::cerr << ripeline::faults::kUsage;
  return 2;
}
