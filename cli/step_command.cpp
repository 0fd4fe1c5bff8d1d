// ripeline step: a run, walked event by event.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/pictures.h"
#include "load/steps.h"
#include "view/debugger.h"

namespace ripeline::cli {
namespace {

struct StepCommand {
  std::string file;
  RunFlags run;
};

// Walks a run of several steps. The debugger walks one of them; go_to() loads another.
class Walk {
 public:
  explicit Walk(const StepCommand& command) : command_(command) {}

  // Loads the step that the flags select. If that fails, prints why and returns false.
  bool reload() {
    auto loaded = load_run(command_.file, command_.run);
    if (!loaded) return false;
    debugger_.reset();
    run_ = std::make_unique<load::Run>(*std::move(loaded));
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
    if (!run_->is_trace()) return "this run has one step\n";
    auto& steps = command_.run.run.steps;
    const auto before = std::exchange(steps, trace::StepRange{*number, *number});
    if (reload()) return debugger_->run("start");
    steps = before;
    return "it stays at " + run_->title + '\n';
  }

  StepCommand command_;
  std::unique_ptr<load::Run> run_;
  std::optional<view::Debugger> debugger_;  // walks `run_`
};

int step(const StepCommand& command) {
  const auto& steps = command.run.run.steps;
  if (steps && steps->first != steps->last) {
    return say_failed("--step: one step is walked, so give its number, as --step " +
                      std::to_string(steps->last));
  }
  Walk walk(command);
  if (!walk.reload()) return bad_input;
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
