// ripeline show and ripeline why: the first draws the timeline of a run, the second explains it.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/pictures.h"
#include "load/folder.h"
#include "trace/parts.h"
#include "view/terminal.h"

namespace ripeline::cli {
namespace {

int code_of(const load::Run& run) { return run.stuck.any() ? refuted : ok; }

struct ShowCommand {
  std::string file;
  RunFlags run;
  PictureFlags picture;
  std::string trace;
  std::optional<int> width;
  std::string colour = "auto";
};

int terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    return size.ws_col;
  }
  return 100;
}

// By https://no-color.org, a NO_COLOR that is set and not empty means no colour.
bool wants_colour(const std::string& colour) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (colour != "auto") return colour == "always";
  return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

// Merges the parts of a run, and draws nothing, since a complete long run may not fit a terminal.
int merge(const ShowCommand& command) {
  if (!load::is_folder(command.file)) {
    return say_failed(
        "--trace: expected the folder of a run's parts, as run.json.parts, and found " +
        command.file);
  }
  std::vector<std::string> notes;
  const core::Status merged = trace::merge_parts(command.file, command.trace, &notes);
  if (!merged.ok()) return say_failed(merged.message());
  say_notes(notes);
  return ok;
}

int show(const ShowCommand& command) {
  if (!command.trace.empty()) return merge(command);
  const auto loaded = load_run(command.file, command.run);
  if (!loaded) return bad_input;
  const load::Run& run = *loaded;
  const std::vector<view::Panel> panels = {run.panel()};
  const auto range = said(load::range_of(command.picture.part, panels));
  if (!range.ok() || !said(write_picture(command.picture, panels)).ok()) return bad_input;
  const view::TerminalOptions options{.width = command.width.value_or(terminal_width()),
                                      .colour = wants_colour(command.colour),
                                      .range = range.value()};
  std::cout << view::terminal(run.timeline, options, run.stuck);
  return code_of(run);
}

struct WhyCommand {
  std::string file;
  std::string task;
  RunFlags run;
};

int why(const WhyCommand& command) {
  const auto loaded = load_run(command.file, command.run);
  if (!loaded) return bad_input;
  const load::Run& run = *loaded;
  const auto text = said(load::explained(run, command.task));
  if (!text.ok()) return bad_input;
  std::cout << text.value();
  return command.task.empty() ? code_of(run) : ok;
}

}  // namespace

void add_show(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("show", "draw the timeline of a trace or of a simulated program");
  auto options = std::make_shared<ShowCommand>();
  command->add_option("FILE", options->file, kRunHelp)->required();
  add_run_flags(*command, options->run);
  add_picture(*command, options->picture, Beside::text);
  command->add_option("--trace", options->trace,
                      "of the folder of a run that was killed: write one trace, and draw nothing");
  command->add_option("--width", options->width, "columns of the text; the terminal's, or 100")
      ->check(integer_from(view::kLeastColumns, view::kMostColumns));
  command
      ->add_option("--colour,--color", options->colour,
                   "always, never, or auto: on a terminal, if NO_COLOR is not set")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->footer(
      "Examples\n"
      "  ripeline show zb_h1 -m 16\n"
      "  ripeline show run.json --picture run.html\n"
      "  ripeline show run.json.parts --trace run.json\n"
      "Exit codes: 0 it ended, 1 the run deadlocked, 2 bad input.");
  command->callback([options, &exit_code] { exit_code = show(*options); });
}

void add_why(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "why",
      "where the time of a run went, by rank and cause; of a task, what it waited for, and that in "
      "turn, back to the start");
  auto options = std::make_shared<WhyCommand>();
  command->add_option("FILE", options->file, kRunHelp)->required();
  command->add_option("TASK", options->task, "stage, op and microbatch: 2F0");
  add_run_flags(*command, options->run);
  command->footer(
      "Examples\n"
      "  ripeline why run.json --step 3\n"
      "  ripeline why bf 1B0 -m 8 --latency 0.5");
  command->callback([options, &exit_code] { exit_code = why(*options); });
}

}  // namespace ripeline::cli
