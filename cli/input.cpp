#include "cli/input.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/choice.h"
#include "cli/microbatch_flag.h"

namespace ripeline::cli {
namespace {

std::string files_text(std::size_t count) {
  return fmt::format("{} file{}", count, count == 1 ? "" : "s");
}

// Prints the notes and the errors; one with a place in the text is shown there.
void say_read(const load::Reading& reading, const spec::Diagnostics& errors) {
  for (const std::string& note : reading.notes) {
    std::cerr << fmt::format("note: {}: {}\n", reading.input->source.name, note);
  }
  if (std::all_of(errors.begin(), errors.end(), spec::is_failure)) {
    say_failed(errors);
    return;
  }
  const auto& [source, form] = *reading.input;
  if (form == load::InputForm::program) {
    std::cerr << spec::render(source, errors);
    return;
  }
  for (const spec::Diagnostic& error : errors) {
    if (error.span == spec::Span{} && error.option.empty()) {
      say_failed(fmt::format("{}: {}{}", source.name, error.message,
                             error.hint.empty() ? "" : "; " + error.hint));
    } else {
      std::cerr << spec::render(source, {error});
    }
  }
}

template <class T>
spec::Result<T> said_read(spec::Result<T> result, load::Reading reading,
                          std::optional<spec::Source>* read) {
  say_read(reading, result.ok() ? spec::Diagnostics() : result.errors());
  if (read != nullptr && reading.input) *read = std::move(reading.input->source);
  return result;
}

}  // namespace

void note_skipped(const load::ProgramsBelow& below) {
  constexpr std::size_t kMostNamed = 20;
  using load::SkippedAs;
  for (const SkippedAs why : {SkippedAs::without_action, SkippedAs::program}) {
    std::vector<std::string> files;
    for (const load::Skipped& one : below.skipped) {
      if (one.why == why) files.push_back(one.file);
    }
    if (files.empty()) continue;
    const std::size_t count = files.size();
    files.resize(std::min(count, kMostNamed));
    std::cerr << fmt::format(
        "note: skipped {} {}: {}{}\n", files_text(count), text_of(why), fmt::join(files, ", "),
        count > files.size() ? fmt::format(" and {} more", count - files.size()) : "");
  }
}

std::string skipped_text(std::size_t count) {
  return count == 0 ? "" : fmt::format("; {} skipped", files_text(count));
}

void add_program_options(CLI::App& command, load::ProgramOptions& options) {
  command
      .add_option("-D", options.defines,
                  "set a param, e.g. -D ranks=8; `microbatches` narrows the range to one count")
      ->type_name("K=V")
      ->allow_extra_args(false);
  command
      .add_option("--dispatch", options.dispatch,
                  "dispatch like this instead, e.g. \"ready by bf\"")
      ->type_name("TEXT");
  add_placement(command, options.placement);
}

void add_judged_options(CLI::App& command, load::ProgramOptions& options) {
  add_program_options(command, options);
  add_microbatches(command, options.microbatches,
                   "for this number of microbatches alone, or for each of a range, as 1..128; "
                   "without it, for all that the program is for");
}

void add_placement(CLI::App& command, std::optional<pytorch::Placement>& placement) {
  using pytorch::Placement;
  add_choice<std::optional<Placement>, Placement>(
      command, "--placement", placement,
      {{"chain", Placement::chain}, {"loop", Placement::loop}, {"v", Placement::v}},
      "of a CSV: which rank owns a stage, which PyTorch's schedule class says and not the file; "
      "without it, what fits the file");
}

spec::Result<load::LoadedProgram> load_program(const std::string& file,
                                               const load::ProgramOptions& options,
                                               std::optional<spec::Source>* read) {
  load::Reading reading;
  auto loaded = load::read_program(file, options, &reading);
  return said_read(std::move(loaded), std::move(reading), read);
}

spec::Result<load::LoadedTree> load_tree(const std::string& file,
                                         const load::ProgramOptions& options,
                                         std::optional<spec::Source>* read) {
  load::Reading reading;
  auto loaded = load::read_tree(file, options, &reading);
  return said_read(std::move(loaded), std::move(reading), read);
}

}  // namespace ripeline::cli
