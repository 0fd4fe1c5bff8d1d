// ripeline library: the built-in schedules.
#include <iostream>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "load/megatron.h"
#include "spec/library.h"

namespace ripeline::cli {
namespace {

struct LibraryCommand {
  std::string name;
  std::string output;  // if empty, standard output
  load::MegatronOptions megatron;
};

void list() {
  for (const auto& entry : spec::library()) {
    std::cout << fmt::format("{:<16} {}\n", entry.name, entry.summary);
  }
}

// Writes the program to the file of -o or to standard output. Returns the exit code.
int print(const LibraryCommand& command, const std::string& text) {
  const auto written = write_file(command.output.empty() ? "-" : command.output, text);
  return written.ok() ? ok : say_failed(written.errors());
}

int megatron(const LibraryCommand& command) {
  if (command.name != "megatron") {
    return say_failed("options of Megatron-LM: expected `ripeline library megatron`");
  }
  const auto text = load::megatron_program(command.megatron);
  if (!text.ok()) return say_failed(text.errors());
  return print(command, text.value());
}

int run(const LibraryCommand& command) {
  if (load::any_given(command.megatron)) return megatron(command);
  if (command.name.empty()) {
    if (!command.output.empty()) return say_failed("-o: expected the NAME of what to write");
    list();
    return ok;
  }
  if (const auto text = spec::library_text(command.name)) return print(command, *text);
  std::vector<std::string> names;
  for (const auto& entry : spec::library()) names.emplace_back(entry.name);
  const auto meant = spec::nearest(command.name, names);
  return say_failed(fmt::format("no library schedule is called '{}'{}", command.name,
                                meant ? ". Did you mean " + *meant + "?"
                                      : fmt::format("; there are: {}", fmt::join(names, ", "))));
}

void add_megatron_options(CLI::App& command, load::MegatronOptions& options) {
  for (const load::MegatronOption& option : load::megatron_options()) {
    const std::string other =
        *option.other_name == '\0' ? "" : std::string(",") + option.other_name;
    command
        .add_option(option.name + other, options.*option.value,
                    std::string("of megatron: ") + option.help)
        ->check(integer_from(1, load::kMostOfMegatron))
        ->type_name("N");
  }
}

}  // namespace

void add_library(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "library",
      "list the built-in schedules, print one, or print what Megatron-LM runs with given options "
      "(megatron)");
  auto options = std::make_shared<LibraryCommand>();
  command->add_option("NAME", options->name, "the schedule to print");
  command->add_option("-o", options->output,
                      "the file to write, or - for standard output, where it goes without it");
  add_megatron_options(*command, options->megatron);
  command->footer(
      "Examples\n"
      "  ripeline library                      the list\n"
      "  ripeline library zb_v -o mine.ripe    one of them, to change\n"
      "  ripeline library megatron --pipeline-model-parallel-size 8 --num-layers 64 \\\n"
      "      --num-layers-per-virtual-pipeline-stage 4 -o megatron.ripe\n"
      "`ripeline optimise` makes an order for given costs and memory.\n"
      "Exit codes: 0 done, 2 bad input.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
