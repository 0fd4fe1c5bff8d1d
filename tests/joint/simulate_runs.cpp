// simulate_runs: makes any number of simulated runs. See docs/testing.md.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/joint/joint_run.h"
#include "tests/joint/planted_bugs.h"
#include "tests/joint/tally.h"

namespace ripeline::joint {
namespace {

constexpr const char* kUsage =
    R"(usage: simulate_runs [--seeds N] [--from S] [--kinds LIST] [--unnamed yes|no]
       simulate_runs --replay SEED [--kinds KIND] [--bug NAME]
       simulate_runs --bugs N
Simulates the runs of N seeds from S (1,000 from 1) and counts what was broken. LIST: some of none,
slow, pause, kill, stop, resume, cut, fail, refuse, endless, garbage, apart, two; without it each
seed has its kind. --unnamed prints whom first lines name where it is not the culprit. --replay
prints all events of one seed. --bugs plants each bug and says which seed finds it, of N.
exit 1: an invariant was broken, or a bug not found
)";

struct Arguments {
  std::uint64_t seeds = 1000;
  std::uint64_t from = 1;
  std::vector<FaultKind> kinds;
  bool unnamed = false;
  std::optional<std::uint64_t> replay;
  std::optional<std::uint64_t> bugs;
  std::string bug;
};

bool set_kinds(Arguments& a, const std::string& value) {
  std::istringstream list(value);
  for (std::string name; std::getline(list, name, ',');) {
    const auto found = std::find(kFaultKinds.begin(), kFaultKinds.end(), name);
    if (found == kFaultKinds.end()) return false;
    a.kinds.push_back(static_cast<FaultKind>(found - kFaultKinds.begin()));
  }
  return !a.kinds.empty();
}

std::optional<std::uint64_t> number(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoull(text);
}

bool set(Arguments& a, const std::string& name, const std::string& value) {
  if (name == "--kinds") return set_kinds(a, value);
  if (name == "--bug") {
    a.bug = value;
    return !!bug_of(value);
  }
  if (name == "--unnamed") {
    a.unnamed = value == "yes";
    return a.unnamed || value == "no";
  }
  const std::optional<std::uint64_t> n = number(value);
  if (!n) return false;
  if (name == "--seeds") {
    a.seeds = *n;
  } else if (name == "--from") {
    a.from = *n;
  } else if (name == "--replay") {
    a.replay = *n;
  } else if (name == "--bugs") {
    a.bugs = *n;
  } else {
    return false;
  }
  return true;
}

RunOptions options_of(const Arguments& a, std::uint64_t seed) {
  RunOptions options;
  if (!a.kinds.empty()) options.kind = a.kinds[seed % a.kinds.size()];
  if (!a.bug.empty()) options.bug = bug_of(a.bug);
  return options;
}

int replay(const Arguments& a) {
  RunOptions options = options_of(a, *a.replay);
  options.log = true;
  const Verdict verdict = run_seed(*a.replay, options);
  std::cout << verdict.log << report_of(verdict);
  return verdict.broken.empty() ? 0 : 1;
}

int run(const Arguments& a) {
  const auto begin = std::chrono::steady_clock::now();
  Tally tally;
  for (std::uint64_t seed = a.from; seed < a.from + a.seeds; ++seed) {
    const Verdict verdict = run_seed(seed, options_of(a, seed));
    tally.add(verdict);
    const bool unnamed = a.unnamed && verdict.named < verdict.survivors && !verdict.stuck;
    if (verdict.broken.empty() && !unnamed) continue;
    std::cout << "seed " << seed << " (" << name_of(verdict.kind) << ")\n"
              << report_of(verdict) << "  simulate_runs --replay " << seed << " --kinds "
              << name_of(verdict.kind) << "\n"
              << std::flush;
  }
  std::cout << tally.table();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "%.1f s\n", took.count());
  return tally.broken() == 0 ? 0 : 1;
}

int find_bugs(const Arguments& a) {
  int missed = 0;
  for (const NamedBug& bug : planted_bugs()) {
    const auto found = first_seed_that_finds(bug, a.from, *a.bugs);
    std::cout << bug.name << ": "
              << (found ? "found after " + std::to_string(found->seed - a.from + 1) +
                              " seeds: " + found->how
                        : "not found")
              << std::endl;
    missed += found ? 0 : 1;
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ripeline::joint

int main(int argc, char** argv) {
  using namespace ripeline::joint;
  Arguments arguments;
  bool good = argc % 2 == 1;
  for (int i = 1; good && i + 1 < argc; i += 2) good = set(arguments, argv[i], argv[i + 1]);
  if (!good) {
    std::cerr << kUsage;
    return 2;
  }
  if (arguments.replay) return replay(arguments);
  return arguments.bugs ? find_bugs(arguments) : run(arguments);
}
