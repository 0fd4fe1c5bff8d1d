// compare_oracle compares any number of random programs, in shards that can be resumed. See
// docs/testing.md.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "files/new_file.h"
#include "tests/compare/comparison.h"
#include "tests/compare/tally.h"

namespace ripeline::compare {
namespace {

constexpr const char* kUsage = R"(usage: compare_oracle [--first SEED] [--programs N] [--shard K/N]
                      [--state FILE] [--features LIST] [--solver-steps N] [--search-states N]
                      [--most-states N] [--again yes|no] [--reasons FILE]
       compare_oracle --sum FILE...
       compare_oracle --print SEED [--features LIST]
Shard K of N (K from 0) takes every Nth seed. A state file is written every few seconds and gone on
from. What the limits leave open is judged again with those of `ripeline verify`, or, with
--again no, stays open. LIST: none, all, or of links,once,before,engines,groups,keeping,shares,
pairs,hints,mixed; all has neither groups nor mixed. --reasons appends a line for each program that
is left open: its seed, its features, why. exit 1: a verdict is wrong
)";

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t programs = 10'000;
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  std::string state;
  std::string reasons;
  std::string features = "all";
  std::vector<std::string> sum;
  std::optional<std::uint64_t> print;
  Options options;

  // The seeds and limits of a run. Only a run with the same ones continues this run's state file.
  [[nodiscard]] std::string identity() const {
    return fmt::format("first {} shard {}/{} features {} steps {} search {} again {} states {}",
                       first, shard, shards, features, options.verify.solver_steps,
                       options.verify.search_states, options.again ? "yes" : "no",
                       options.most_states);
  }
};

bool number(const std::string& text, std::uint64_t& value) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return false;
  value = std::strtoull(text.c_str(), nullptr, 10);
  return true;
}

bool set_features(Arguments& a) {
  auto& programs = a.options.programs;
  if (a.features == "all") return true;
  programs.links = programs.once = programs.before = programs.engines = programs.groups = false;
  programs.keeping = programs.shares = programs.pairs = programs.hints = programs.mixed = false;
  if (a.features == "none") return true;
  std::istringstream list(a.features);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == "links") {
      programs.links = true;
    } else if (name == "once") {
      programs.once = true;
    } else if (name == "before") {
      programs.before = true;
    } else if (name == "engines") {
      programs.engines = true;
    } else if (name == "groups") {
      programs.groups = true;
    } else if (name == "keeping") {
      programs.keeping = true;
    } else if (name == "shares") {
      programs.shares = true;
    } else if (name == "pairs") {
      programs.pairs = true;
    } else if (name == "hints") {
      programs.hints = true;
    } else if (name == "mixed") {
      programs.mixed = true;
    } else {
      return false;
    }
  }
  return true;
}

bool set(Arguments& a, const std::string& name, const std::string& value) {
  std::uint64_t n = 0;
  if (name == "--state") {
    a.state = value;
    return true;
  }
  if (name == "--reasons") {
    a.reasons = value;
    return true;
  }
  if (name == "--features") {
    a.features = value;
    return set_features(a);
  }
  if (name == "--again") {
    if (value == "no") a.options.again.reset();
    return value == "yes" || value == "no";
  }
  if (name == "--shard") {
    const std::size_t slash = value.find('/');
    return slash != std::string::npos && number(value.substr(0, slash), a.shard) &&
           number(value.substr(slash + 1), a.shards) && a.shard < a.shards;
  }
  if (!number(value, n)) return false;
  if (name == "--first") {
    a.first = n;
  } else if (name == "--programs") {
    a.programs = n;
  } else if (name == "--solver-steps") {
    a.options.verify.solver_steps = n;
  } else if (name == "--search-states") {
    a.options.verify.search_states = n;
  } else if (name == "--most-states") {
    a.options.most_states = n;
  } else if (name == "--print") {
    a.print = n;
  } else {
    return false;
  }
  return true;
}

std::optional<Arguments> parse(const std::vector<std::string>& words) {
  Arguments a;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (words[i] == "--sum") {
      a.sum.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      return a.sum.empty() ? std::nullopt : std::optional(a);
    }
    if (i + 1 == words.size() || !set(a, words[i], words[i + 1])) return std::nullopt;
  }
  return a;
}

// The content of a state file.
struct Progress {
  std::string identity;
  std::uint64_t done = 0;  // the number of programs of this shard that are done
  Tally tally;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Progress, identity, done, tally)

std::optional<Progress> read(const std::string& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json.get<Progress>();
}

// Returns false after reporting an error.
bool write(const std::string& path, const Progress& progress) {
  if (path.empty()) return true;
  const core::Status written = files::write_file(path, nlohmann::json(progress).dump(1) + "\n");
  if (!written.ok()) std::cerr << written.message() << "\n";
  return written.ok();
}

int sum(const std::vector<std::string>& paths) {
  Tally total;
  for (const std::string& path : paths) {
    const auto progress = read(path);
    if (!progress) {
      std::cerr << path << " is not a state file\n";
      return 2;
    }
    total.add(progress->tally);
  }
  std::cout << total.table();
  return total.wrong.empty() ? 0 : 1;
}

void add_reason(const std::string& path, std::uint64_t seed, const Comparison& c) {
  if (path.empty() || (c.found != Found::open && !c.missed)) return;
  std::ofstream(path, std::ios::app)
      << fmt::format("{}{} [{}{}] {}\n", seed, c.missed ? " missed" : "", c.join ? "join, " : "",
                     fmt::join(c.features, ", "), c.reason);
}

int run(const Arguments& a) {
  using std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::seconds(10);
  Progress progress{a.identity(), 0, {}};
  if (!a.state.empty() && std::filesystem::exists(a.state)) {
    const auto known = read(a.state);
    if (!known || known->identity != progress.identity) {
      std::cerr << a.state << " is of another run: " << (known ? known->identity : "?") << "\n";
      return 2;
    }
    progress = *known;
  }
  auto saved = steady_clock::now();
  for (std::uint64_t i = a.shard + progress.done * a.shards; i < a.programs; i += a.shards) {
    const std::size_t wrong = progress.tally.wrong.size();
    const Comparison comparison = compare(a.first + i, a.options);
    progress.tally.add(a.first + i, comparison);
    add_reason(a.reasons, a.first + i, comparison);
    ++progress.done;
    const bool found = progress.tally.wrong.size() > wrong;
    if (found) {
      const Wrong& w = progress.tally.wrong.back();
      std::cout << fmt::format("WRONG: seed {}: {}\n{}", w.seed, w.what, w.text) << std::flush;
    }
    if (!found && steady_clock::now() - saved < kPause) continue;
    saved = steady_clock::now();
    if (!write(a.state, progress)) return 2;
    std::cerr << fmt::format("{} programs, {} wrong\n", progress.done, progress.tally.wrong.size());
  }
  if (!write(a.state, progress)) return 2;
  std::cout << progress.tally.table();
  std::cerr << fmt::format("{:.0f} s in the oracle, {:.0f} s in verify\n",
                           progress.tally.oracle_seconds, progress.tally.verify_seconds);
  return progress.tally.wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace ripeline::compare

int main(int argc, char** argv) {
  using namespace ripeline::compare;
  const auto arguments = parse({argv + 1, argv + argc});
  if (!arguments) {
    std::cerr << kUsage;
    return 2;
  }
  if (!arguments->sum.empty()) return sum(arguments->sum);
  if (arguments->print) {
    std::cout << ripeline::testing_support::random_program_text(*arguments->print,
                                                                arguments->options.programs);
    return 0;
  }
  return run(*arguments);
}
