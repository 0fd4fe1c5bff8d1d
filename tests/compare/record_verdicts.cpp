// record_verdicts: writes the judge's verdicts on thousands of programs, and two simulated runs of
// each; or shows how two such files differ. See docs/testing.md.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "files/new_file.h"
#include "tests/compare/record.h"
#include "tests/compare/record_changes.h"
#include "tests/compare/subjects.h"

namespace ripeline::compare {
namespace {

constexpr const char* kUsage =
    R"(usage: record_verdicts [--out FILE] [--programs N] [--first SEED] [--depths N]
                       [--library yes|no] [--repairs N] [--least N] [--shard K/N]
                       [--solver-steps N] [--search-states N]
       record_verdicts --compare BEFORE AFTER

Record before you change the judge or the simulator, and after it, with the same options and the
program as it was built then; and compare the two files:

  record_verdicts --out before.json
  record_verdicts --out after.json
  record_verdicts --compare before.json after.json

What is judged:
  --programs N        random programs, of each set of features in turn (5000)
  --first SEED        the seed of the first of them (1)
  --depths N          random programs for every number of ranks (100)
  --library yes|no    the schedules of the library (yes)
  --repairs N         search repairs for one in N of the programs that are refuted (1: all of them)
  --least N           ask one in N of the programs that are proved for least capacities (10)
  --shard K/N         every Nth program only, from the Kth on, K from 0; each shard has its own file
  --solver-steps N, --search-states N
                      the limits of the judge, which are counted: no record depends on the machine
Where it goes:
  --out FILE          a JSON list with a line for each program, written when all are judged; else
                      it is printed

--compare prints each program and field that differs, then how often each field does.
exit codes: 0 recorded, or no difference; 1 a field differs; 2 bad input
)";

struct Arguments {
  Selection selection;
  Limits limits;
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  std::string out;
  std::vector<std::string> compare;  // none or two files
};

bool number(const std::string& text, std::uint64_t& value) {
  if (text.empty() || text.size() > 18) return false;
  if (text.find_first_not_of("0123456789") != std::string::npos) return false;
  value = std::strtoull(text.c_str(), nullptr, 10);
  return true;
}

bool set(Arguments& a, const std::string& name, const std::string& value) {
  if (name == "--out") {
    a.out = value;
    return !value.empty();
  }
  if (name == "--library") {
    a.selection.library = value == "yes";
    return value == "yes" || value == "no";
  }
  if (name == "--shard") {
    const std::size_t slash = value.find('/');
    return slash != std::string::npos && number(value.substr(0, slash), a.shard) &&
           number(value.substr(slash + 1), a.shards) && a.shard < a.shards;
  }
  const std::map<std::string, std::uint64_t*> numbers = {
      {"--programs", &a.selection.programs},
      {"--first", &a.selection.first},
      {"--depths", &a.selection.depths},
      {"--repairs", &a.selection.repairs},
      {"--least", &a.selection.least},
      {"--solver-steps", &a.limits.solver_steps},
      {"--search-states", &a.limits.search_states},
  };
  const auto found = numbers.find(name);
  if (found == numbers.end() || !number(value, *found->second)) return false;
  return a.selection.repairs > 0 && a.selection.least > 0;
}

std::optional<Arguments> parse(const std::vector<std::string>& words) {
  Arguments a;
  if (!words.empty() && words[0] == "--compare") {
    a.compare.assign(words.begin() + 1, words.end());
    return a.compare.size() == 2 ? std::optional(a) : std::nullopt;
  }
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size() || !set(a, words[i], words[i + 1])) return std::nullopt;
  }
  return a;
}

// Each record has a line of its own, so that `diff` is useful for the files too.
std::string text_of(const Records& records) {
  std::string text = "[";
  for (const auto& record : records) text += (text.size() == 1 ? "\n" : ",\n") + record.dump();
  return text + "\n]\n";
}

// The limits used for the records, as a record of their own, so that --compare notices if the two
// files were made with different limits.
nlohmann::ordered_json options_record(const Arguments& a) {
  return {{"id", "options"},
          {"solver_steps", a.limits.solver_steps},
          {"search_states", a.limits.search_states},
          {"repairs", a.selection.repairs},
          {"least", a.selection.least}};
}

int record_all(const Arguments& a) {
  using std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::seconds(10);
  const std::vector<Subject> all = subjects(a.selection);
  Records records = {options_record(a)};
  std::map<std::string, int> verdicts;
  auto said = steady_clock::now();
  for (std::uint64_t i = a.shard; i < all.size(); i += a.shards) {
    records.push_back(record(all[i], a.limits));
    ++verdicts[records.back().value("verdict", "bad input")];
    if (steady_clock::now() - said < kPause) continue;
    said = steady_clock::now();
    std::cerr << fmt::format("{} of {} programs, the last one: {}\n", records.size() - 1,
                             (all.size() - a.shard + a.shards - 1) / a.shards, all[i].id);
  }
  const std::string text = text_of(records);
  if (a.out.empty()) {
    std::cout << text;
  } else if (const core::Status written = files::write_file(a.out, text); !written.ok()) {
    std::cerr << written.message() << "\n";
    return 2;
  }
  for (const auto& [verdict, count] : verdicts) std::cerr << count << " " << verdict << "\n";
  return 0;
}

int compare_files(const std::vector<std::string>& paths) {
  std::vector<Records> files;
  for (const std::string& path : paths) {
    auto records = read_records(path);
    if (!records.ok()) {
      std::cerr << records.errors().front().message << "\n";
      return 2;
    }
    files.push_back(std::move(records).value());
  }
  const std::vector<ProgramChanges> changes = changes_between(files[0], files[1]);
  std::cout << changes_text(changes)
            << fmt::format("{} entries differ, of {} before and {} after\n", changes.size(),
                           files[0].size(), files[1].size());
  return changes.empty() ? 0 : 1;
}

}  // namespace
}  // namespace ripeline::compare

int main(int argc, char** argv) {
  using namespace ripeline::compare;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words == std::vector<std::string>{"--help"}) {
    std::cout << kUsage;
    return 0;
  }
  const auto arguments = parse(words);
  if (!arguments) {
    std::cerr << kUsage;
    return 2;
  }
  return arguments->compare.empty() ? record_all(*arguments) : compare_files(arguments->compare);
}
