// ripeline show, why and step: what happens when in one run, and why.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/adviser.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/pictures.h"
#include "load/folder.h"
#include "load/steps.h"
#include "trace/parts.h"
#include "view/explain.h"
#include "view/terminal.h"

namespace ripeline::cli {
namespace {

int code_of(const Run& run) { return run.stuck.any() ? refuted : ok; }

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

// https://no-color.org: set and not empty means none.
bool wants_colour(const std::string& colour) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (colour != "auto") return colour == "always";
  return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

// Nothing is drawn: the whole of a long run is more than fits.
int merge(const ShowCommand& command) {
  if (!load::is_folder(command.file)) {
    return say_failed(
        "--trace: expected the folder of a run's parts, as run.json.parts, and found " +
        command.file);
  }
  std::vector<std::string> notes;
  const core::Status merged = trace::merge_parts(command.file, command.trace, &notes);
  if (!merged.ok()) return say_failed(merged.message());
  say_missing(notes);
  return ok;
}

int show(const ShowCommand& command) {
  if (!command.trace.empty()) return merge(command);
  const auto loaded = load_run(command.file, command.run);
  if (!loaded.ok()) return bad_input;
  const Run& run = loaded.value();
  const std::vector<view::Panel> panels = {run.panel()};
  const auto range = said(range_of(command.picture, panels));
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
  if (!loaded.ok()) return bad_input;
  const Run& run = loaded.value();
  view::Reasons reasons(run.timeline);
  if (command.task.empty()) {
    std::cout << run.title << ": " << view::explain_all(run.timeline, reasons);
    return code_of(run);
  }
  const auto task = view::task_named(run.timeline, command.task);
  if (!task) {
    return say_failed("'" + command.task + "' is no task of " +
                      std::string(run.timeline.facts().name) +
                      " in this run; a task is a stage, an op and a microbatch, as 2F0");
  }
  const int box = run.timeline.find(run.timeline.last_step(), *task);
  if (box < 0) {
    std::cout << command.task << " did not run\n" << view::terminal(run.timeline, {}, run.stuck);
    return code_of(run);
  }
  std::cout << view::explain(run.timeline, reasons, box);
  return ok;
}

struct StepCommand {
  std::string file;
  RunFlags run;
};

// The debugger walks one step of a run; here it goes to another.
class Walk {
 public:
  explicit Walk(const StepCommand& command) : command_(command) {}

  // The step that the flags say. False: it fails, and why is on standard error.
  bool load() {
    auto loaded = load_run(command_.file, command_.run);
    if (!loaded.ok()) return false;
    debugger_.reset();
    run_ = std::make_unique<Run>(std::move(loaded).value());
    debugger_.emplace(run_->timeline, adviser_of(*run_), run_->stuck);
    return true;
  }
  [[nodiscard]] bool done() const { return debugger_->done(); }

  std::string run(const std::string& line) {
    constexpr std::string_view kStep = "step ";
    return line.starts_with(kStep) ? go_to(line.substr(kStep.size())) : debugger_->run(line);
  }

 private:
  std::string go_to(const std::string& text) {
    const auto number = load::step_number(text);
    if (!number) return "'" + text + "' is no number of a step\n";
    if (run_->loaded != nullptr) return "this run has one step\n";
    const auto before = command_.run.steps;
    command_.run.steps = trace::StepRange{*number, *number};
    if (load()) return debugger_->run("start");
    command_.run.steps = before;
    return "it stays at " + run_->title + '\n';
  }

  StepCommand command_;
  std::unique_ptr<Run> run_;
  std::optional<view::Debugger> debugger_;  // the run's
};

int step(const StepCommand& command) {
  if (command.run.steps && command.run.steps->first != command.run.steps->last) {
    return say_failed("--step: one step is walked, so give its number, as --step " +
                      std::to_string(command.run.steps->last));
  }
  Walk walk(command);
  if (!walk.load()) return bad_input;
  const bool person = isatty(STDIN_FILENO) != 0;
  std::cout << walk.run("start");
  if (person) std::cout << "help lists the commands\n";
  std::string line;
  while (!walk.done()) {
    if (person) std::cout << "> " << std::flush;
    if (!std::getline(std::cin, line)) break;
    if (!person) std::cout << "\n> " << line << '\n';
    std::cout << walk.run(line);
  }
  return ok;
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
      ->check(integer_from(20, 10'000));
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

void add_step(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "step", "walk a run event by event: what each rank could start, holds and waits for");
  auto options = std::make_shared<StepCommand>();
  command->add_option("FILE", options->file, kRunHelp)->required();
  add_run_flags(*command, options->run);
  command->footer(
      "Commands come from standard input, one a line; help lists them.\n"
      "  printf 'idle 1\\nwhy 1B0\\n' | ripeline step bf");
  command->callback([options, &exit_code] { exit_code = step(*options); });
}

}  // namespace ripeline::cli
