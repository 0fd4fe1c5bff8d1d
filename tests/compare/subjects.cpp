#include "tests/compare/subjects.h"

#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "spec/library.h"
#include "spec/program.h"
#include "tests/support/random_depth.h"
#include "tests/support/random_program.h"

namespace ripeline::compare {
namespace {

using testing_support::RandomProgramOptions;

struct Switch {
  const char* name;
  bool RandomProgramOptions::*on;
};

// Constructs that any program may have; kFeatures are the features beyond them.
constexpr Switch kBasics[] = {
    {"joins", &RandomProgramOptions::joins},
    {"streams", &RandomProgramOptions::streams},
    {"broken orders", &RandomProgramOptions::broken_orders},
    {"assertions", &RandomProgramOptions::assertions},
};
constexpr Switch kFeatures[] = {
    {"links", &RandomProgramOptions::links},     {"once", &RandomProgramOptions::once},
    {"before", &RandomProgramOptions::before},   {"engines", &RandomProgramOptions::engines},
    {"keeping", &RandomProgramOptions::keeping}, {"shares", &RandomProgramOptions::shares},
    {"pairs", &RandomProgramOptions::pairs},     {"groups", &RandomProgramOptions::groups},
    {"hints", &RandomProgramOptions::hints},
};

struct FeatureSet {
  std::string name;
  RandomProgramOptions options;
};

std::vector<FeatureSet> feature_sets() {
  std::vector<FeatureSet> sets;
  RandomProgramOptions bare;
  for (const Switch& basic : kBasics) bare.*basic.on = false;
  sets.push_back({"bare", bare});
  for (const Switch& basic : kBasics) {
    sets.push_back({fmt::format("only {}", basic.name), bare});
    sets.back().options.*basic.on = true;
  }
  sets.push_back({"none", {}});
  RandomProgramOptions all;
  for (const Switch& feature : kFeatures) {
    sets.push_back({feature.name, {}});
    sets.back().options.*feature.on = true;
    for (const Switch& other : kFeatures) {
      if (&other <= &feature) continue;
      sets.push_back({fmt::format("{},{}", feature.name, other.name), {}});
      sets.back().options.*feature.on = sets.back().options.*other.on = true;
    }
    all.*feature.on = true;
  }
  sets.push_back({"everything", all});
  all.groups = false;
  sets.push_back({"all but groups", all});
  return sets;
}

// In each set of features, every second program is so small that all its states can be visited.
void choose_size(RandomProgramOptions& options, bool small) {
  options.max_ranks = small ? 3 : 5;
  options.max_chunks = small ? 2 : 3;
  options.max_microbatches = small ? 3 : 8;
  options.max_tasks = small ? 16 : 120;
}

void add_random_programs(const Selection& selection, std::vector<Subject>& subjects) {
  const std::vector<FeatureSet> sets = feature_sets();
  for (std::uint64_t seed = selection.first; seed < selection.first + selection.programs; ++seed) {
    FeatureSet set = sets[seed % sets.size()];
    const std::uint64_t turn = seed / sets.size();
    const std::uint64_t turn_of_size = turn / 2;
    choose_size(set.options, turn % 2 == 0);
    subjects.push_back({.id = fmt::format("seed {} {}", seed, set.name),
                        .source = {"random.ripe", random_program_text(seed, set.options)},
                        .options = {},
                        .repairs = turn_of_size % selection.repairs == 0,
                        .least = turn_of_size % selection.least == 0});
  }
}

void add_random_depths(const Selection& selection, std::vector<Subject>& subjects) {
  for (std::uint64_t seed = selection.first; seed < selection.first + selection.depths; ++seed) {
    subjects.push_back({.id = fmt::format("seed {} ranks=any", seed),
                        .source = {"random.ripe", testing_support::random_depth_text(seed)},
                        .options = {},
                        .every_depth = true});
  }
}

// The dispatches that the program's hints and orders allow, except the dispatch in its text.
std::vector<std::string> other_dispatches(const spec::Program& program) {
  std::vector<std::string> dispatches = {"ready"};
  for (const spec::Hint& hint : program.hints) {
    dispatches.push_back(fmt::format("ready by {}", hint.name));
  }
  for (const spec::Order& order : program.orders) {
    dispatches.push_back(fmt::format("in order {}", order.name));
    dispatches.push_back(fmt::format("ready by {}", order.name));
    dispatches.push_back(fmt::format("ready by {} keeping {}", order.name, order.name));
  }
  return dispatches;
}

class LibrarySubjects {
 public:
  LibrarySubjects(const Selection& selection, std::vector<Subject>& subjects)
      : selection_(selection), subjects_(subjects) {}

  void add(const spec::LibraryEntry& entry) {
    const spec::Source source{std::string(entry.name), std::string(entry.text)};
    judged_.clear();
    for (const int ranks : {2, 3, 4}) add_with(source, {{"ranks", ranks}});
    add_with(source, {});
    subjects_.push_back({.id = fmt::format("library {} ranks=any", entry.name),
                         .source = source,
                         .options = {},
                         .every_depth = true});
  }

 private:
  void add_with(const spec::Source& source, const std::map<std::string, std::int64_t>& defines) {
    const auto written = add_one(source, {.defines = defines, .dispatch = ""});
    if (!written) return;
    for (const std::string& dispatch : other_dispatches(*written)) {
      add_one(source, {.defines = defines, .dispatch = dispatch});
    }
  }

  // Adds each program only once: the default number of ranks is usually one of the listed numbers.
  std::optional<spec::Program> add_one(const spec::Source& source,
                                       const spec::ElaborateOptions& options) {
    const auto program = spec::compile(source, options);
    if (program.ok() && !judged_.insert(program.value().hash).second) return program.value();
    std::string id = "library " + source.name;
    for (const auto& [name, value] : options.defines) id += fmt::format(" {}={}", name, value);
    if (!options.dispatch.empty()) id += " " + options.dispatch;
    const std::uint64_t turn = count_++;
    subjects_.push_back({.id = id,
                         .source = source,
                         .options = options,
                         .repairs = turn % selection_.repairs == 0,
                         .least = turn % selection_.least == 0});
    if (!program.ok()) return std::nullopt;
    return program.value();
  }

  const Selection& selection_;
  std::vector<Subject>& subjects_;
  std::set<std::uint64_t> judged_;  // hashes of this schedule's programs
  std::uint64_t count_ = 0;
};

}  // namespace

std::vector<Subject> subjects(const Selection& selection) {
  std::vector<Subject> subjects;
  add_random_programs(selection, subjects);
  add_random_depths(selection, subjects);
  if (!selection.library) return subjects;
  LibrarySubjects library(selection, subjects);
  for (const spec::LibraryEntry& entry : spec::library()) library.add(entry);
  return subjects;
}

}  // namespace ripeline::compare
