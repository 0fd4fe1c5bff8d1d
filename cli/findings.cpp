#include "cli/findings.h"

#include <algorithm>
#include <iostream>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/choice.h"
#include "cli/output.h"
#include "core/vocabulary/plural.h"

namespace ripeline::cli {
namespace {

// Prints notes on standard error that count the skipped files and name the first ones. Otherwise a
// schedule in which every cell is misspelt would be skipped unnoticed.
void note_skipped(const std::vector<load::Skipped>& skipped) {
  constexpr std::size_t kMostNamed = 20;
  using load::SkippedAs;
  for (const SkippedAs why : {SkippedAs::without_action, SkippedAs::program}) {
    std::vector<std::string> files;
    for (const load::Skipped& one : skipped) {
      if (one.why == why) files.push_back(one.file);
    }
    if (files.empty()) continue;
    const std::size_t count = files.size();
    files.resize(std::min(count, kMostNamed));
    std::cerr << fmt::format(
        "note: skipped {} {}: {}{}\n", plural(count, "file"), text_of(why), fmt::join(files, ", "),
        count > files.size() ? fmt::format(" and {} more", count - files.size()) : "");
  }
}

}  // namespace

void add_findings_format(CLI::App& command, Format& format) {
  add_choice<Format, Format>(
      command, "--format", format,
      {{"text", Format::text}, {"json", Format::json}, {"sarif", Format::sarif}},
      "text, or json or sarif on standard output");
}

bool is_one_file(const std::vector<std::string>& files) {
  return files.size() == 1 && !load::is_folder(files.front());
}

bool Findings::empty() const { return std::accumulate(counts_.begin(), counts_.end(), 0) == 0; }

void Findings::judge_all(const std::vector<std::string>& files,
                         const std::function<void(const std::string&)>& judge) {
  one_ = is_one_file(files);
  for (const std::string& file : files) {
    if (!load::is_folder(file)) {
      judge(file);
      continue;
    }
    const load::ProgramsBelow below = load::programs_below(
        file, inputs_ == verify::Inputs::programs ? load::Below::programs_and_schedules
                                                  : load::Below::schedules);
    note_skipped(below.skipped);
    skipped_.insert(skipped_.end(), below.skipped.begin(), below.skipped.end());
    for (const std::string& one : below.files) judge(one);
    if (below.read.ok()) continue;
    say_failed(below.read.errors());
    add_bad_input(file, nullptr, below.read.errors());
  }
}

void Findings::add_bad_input(const std::string& file, const spec::Source* source,
                             const spec::Diagnostics& errors) {
  add(bad_input);
  if (format_ == Format::json) {
    add_document(file, verify::bad_input_json(inputs_, file, source, errors));
  }
  if (format_ == Format::sarif) sarif_.add_bad_input(file, source, errors);
}

void Findings::add(int exit_code) {
  code_ = worse(code_, exit_code);
  ++counts_.at(static_cast<std::size_t>(exit_code));
}

void Findings::add_document(const std::string& file, nlohmann::json document) {
  document["file"] = file;
  documents_.push_back(std::move(document));
}

// Returns a summary such as `3 programs: 2 proved, 1 refuted`.
std::string Findings::summary() const {
  constexpr std::array<std::pair<ExitCode, const char*>, 4> kNames = {
      {{ok, "proved"}, {refuted, "refuted"}, {unknown, "unknown"}, {bad_input, "bad input"}}};
  std::vector<std::string> parts;
  for (const auto& [code, name] : kNames) {
    const int n = counts_.at(static_cast<std::size_t>(code));
    if (n > 0) parts.push_back(fmt::format("{} {}", n, name));
  }
  return fmt::format("{}:{}{}",
                     plural(std::accumulate(counts_.begin(), counts_.end(), 0),
                            inputs_ == verify::Inputs::programs ? "program" : "schedule"),
                     parts.empty() ? "" : " ", fmt::join(parts, ", "));
}

int Findings::finish(const std::string& note, int least) const {
  const int code = worse(code_, least);
  const nlohmann::json skipped = load::skipped_json(skipped_);
  if (format_ == Format::sarif) {
    print_json(sarif_.log(RIPELINE_VERSION, code, skipped));
  } else if (format_ == Format::json) {
    print_json(one_ ? documents_.at(0) : verify::list_json(inputs_, documents_, skipped));
  } else if (!one_) {
    std::cout << '\n'
              << summary() << note
              << (skipped_.empty() ? "" : "; " + plural(skipped_.size(), "file") + " skipped")
              << '\n';
  }
  return code;
}

}  // namespace ripeline::cli
