// inject_faults: as many faults as one likes, of all kinds or of one. See docs/testing.md.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/runtime/faults/fault_kinds.h"
#include "tests/runtime/faults/fault_run.h"

namespace ripeline::faults {
namespace {

constexpr const char* kUsage = R"(usage: inject_faults [--faults N] [--seed SEED] [--kind NAME]
Injects N faults (1000) into runs of toy_rank, all kinds in turn or those of one, and prints for each
kind what was seen. Ranks and moments are drawn from the seed, which is printed. exit 1: a run hung,
left something behind or ended otherwise than it should; 2: bad arguments
)";

struct Arguments {
  std::uint64_t faults = 1000;
  std::uint64_t seed = std::random_device{}();
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
                                : name != "--seed" || !number(value, arguments.seed))
      return false;
  }
  return argc % 2 == 1;
}

// What was seen of one kind.
struct Row {
  std::uint64_t runs = 0;
  std::uint64_t wrong = 0;
  double longest = 0;  // seconds
  int survivors = 0;
  int spoke = 0;
  int named = 0;

  void add(const Row& other) {
    runs += other.runs;
    wrong += other.wrong;
    longest = std::max(longest, other.longest);
    survivors += other.survivors;
    spoke += other.spoke;
    named += other.named;
  }
};

void print(std::string_view name, const Row& row) {
  std::cout << fmt::format("{:<54} {:>5} {:>5} {:>7.1f} s", name, row.runs, row.wrong, row.longest);
  if (row.survivors > 0)
    std::cout << fmt::format("   {} of {} spoke, {} named it", row.spoke, row.survivors, row.named);
  std::cout << std::endl;
}

int run(const Arguments& arguments) {
  std::vector<const FaultKind*> kinds;
  for (const FaultKind& kind : fault_kinds()) {
    if (arguments.kind.empty() || arguments.kind == kind.name) kinds.push_back(&kind);
  }
  if (kinds.empty()) {
    std::cerr << "no kind of fault is called " << arguments.kind << "; there are:\n";
    for (const FaultKind& kind : fault_kinds()) std::cerr << "  " << kind.name << '\n';
    return 2;
  }
  std::cout << "seed " << arguments.seed << "\n"
            << fmt::format("{:<54} {:>5} {:>5} {:>9}   ranks that were not to blame\n", "kind",
                           "runs", "wrong", "longest");
  Row total;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    Row row;
    for (std::uint64_t i = k; i < arguments.faults; i += kinds.size()) {
      const std::uint64_t seed = arguments.seed + i;
      const FaultReport report = inject(*kinds[k], seed);
      row.add({1, report.problem.empty() ? 0U : 1U, report.seconds, report.survivors, report.spoke,
               report.named});
      if (report.problem.empty()) continue;
      std::cout << fmt::format("inject_faults --faults 1 --seed {} --kind {}\n{}\n", seed,
                               kinds[k]->name, report.problem);
    }
    if (row.runs > 0) print(kinds[k]->name, row);
    total.add(row);
  }
  print("all", total);
  return total.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ripeline::faults

int main(int argc, char** argv) {
  ripeline::faults::Arguments arguments;
  if (ripeline::faults::read(argc, argv, arguments)) return ripeline::faults::run(arguments);
  std::cerr << ripeline::faults::kUsage;
  return 2;
}
