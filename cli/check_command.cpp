// ripeline check: schedules of PyTorch, judged before a launch.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/findings.h"
#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "load/shorten.h"
#include "pytorch/check_report.h"
#include "pytorch/fix.h"

namespace ripeline::cli {
namespace {

using wire::WireKernels;
using wire::WireLayout;

struct CheckCommand {
  std::vector<std::string> files;
  pytorch::CheckOptions options;
  std::optional<load::Counts> microbatches;
  std::string memory;
  std::string fix;
  Format format = Format::text;
};

// Returns the exit code. Reports on standard error, since the repair is no part of the verdict.
int write_repair(const CheckCommand& command, const pytorch::ReadActions& read,
                 const pytorch::CheckReport& report) {
  if (report.verdict == verify::Outcome::proved) {
    std::cerr << fmt::format("ripeline: {}; {} is not written\n", pytorch::kNothingToRepair,
                             command.fix);
    return ok;
  }
  const auto repaired = pytorch::repair(read, report, command.options);
  if (!repaired.ok()) {
    std::cerr << fmt::format("ripeline: {}; {} is not written: {}\n", pytorch::kNoRepair,
                             command.fix, repaired.errors().front().message);
    return exit_code_of(report.verdict);
  }
  const auto written = write_file(command.fix, pytorch::write_actions(repaired.value().table));
  if (!written.ok()) return say_failed(written.errors());
  std::cerr << fmt::format("ripeline: {} is written, and passes\n{}", command.fix,
                           pytorch::repair_text(repaired.value()));
  return ok;
}

void check_input(const std::string& file, const CheckCommand& command, Findings& findings) {
  const auto input = load::read_schedule(file);
  if (!input.ok()) {
    say_failed(input.errors());
    return findings.add_bad_input(file, nullptr, input.errors());
  }
  const spec::Source& source = input.value();
  const Progress progress("checking " + source.name);
  const pytorch::ReadActions read = pytorch::read_actions(source.text);
  const auto checked = pytorch::check(read, command.options);
  if (!checked.ok()) {
    say_errors({source, load::InputForm::schedule}, checked.errors());
    return findings.add_bad_input(file, nullptr, checked.errors());
  }
  const pytorch::CheckReport& report = checked.value();
  if (command.format == Format::json) {
    findings.add_document(file, pytorch::check_json(file, source.text, report, command.options));
  } else if (command.format == Format::sarif) {
    pytorch::add_check(findings.sarif(), file, source, report);
  } else {
    std::cout << (findings.empty() ? "" : "\n")
              << pytorch::check_text(source.name, read.table, report, command.options);
  }
  findings.add(command.fix.empty() ? exit_code_of(report.verdict)
                                   : write_repair(command, read, report));
}

int run(CheckCommand& command) {
  const auto count = load::one_count(command.microbatches);
  if (!count.ok()) return say_failed(count.errors());
  command.options.microbatches = count.value();
  if (!command.memory.empty()) {
    const auto room = load::room_in(command.memory);
    if (!room.ok()) {
      return say_failed(about("--memory " + load::shortened(command.memory), room.errors()));
    }
    command.options.rank_memory = room.value();
  }
  if (!command.fix.empty() && !is_one_file(command.files)) {
    return say_failed("--fix is for one CSV");
  }
  Findings findings(verify::Inputs::schedules, command.format);
  findings.judge_all(command.files,
                     [&](const std::string& file) { check_input(file, command, findings); });
  return findings.finish();
}

void add_shape(CLI::App& command, pytorch::CheckOptions& o) {
  using pytorch::ActionForm;
  command.add_option("--ranks", o.ranks, "ranks; else as many as the file has rows")
      ->check(integer_from(1));
  command.add_option("--stages", o.stages, "stages in all; else those of the file")
      ->check(integer_from(1));
  add_placement(command, o.placement);
  add_named_choice(command, "--form", o.form, {ActionForm::compute_only, ActionForm::compute_comms},
                   "what the file will be loaded as; else compute_comms if it has communication");
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "check", "judge schedules of PyTorch (CSV): each rule with row, column and reason");
  auto options = std::make_shared<CheckCommand>();
  pytorch::CheckOptions& o = options->options;
  command
      ->add_option("CSV", options->files,
                   "the schedule, or - for standard input; or a folder: every schedule below it")
      ->required();
  add_shape(*command, o);
  add_microbatches(*command, options->microbatches, "microbatches; else those of the file");
  command
      ->add_option(
          "--memory", options->memory,
          "a rank's room, in microbatches of all of its stages, as for `compare` and `optimise`: "
          "an activation of a stage is 1/K of one where a rank has K stages")
      ->type_name("N");
  command
      ->add_option("--stage-memory", o.stage_memory,
                   "a stage's room, in activations of that stage: microbatches in flight there")
      ->check(integer_from(1));
  command->add_flag("!--no-reduce", o.reduce, "the file is for a PyTorch from before REDUCE_GRAD");
  add_named_choice(
      *command, "--layout", o.layout, {WireLayout::group, WireLayout::pair, WireLayout::edge},
      "communicators: one for the group (default), per pair of ranks, per pair and direction");
  add_named_choice(*command, "--kernels", o.kernels,
                   {WireKernels::per_stream, WireKernels::launch_order, WireKernels::serial},
                   "which kernels share a device: all (default), in launch order, no two");
  command->add_flag("--layouts", o.all_layouts, "print the verdict of every layout and level");
  command->add_option("--fix", options->fix,
                      "write a repaired schedule that passes, or nothing, and say what changed");
  add_findings_format(*command, options->format);
  command->footer(
      "Examples\n"
      "  ripeline check schedule.csv --placement v --stage-memory 4\n"
      "  ripeline check schedules --format sarif > ripeline.sarif\n"
      "`simulate`, `show`, `verify` and the others take a CSV too.\n"
      "Exit codes: 0 proved, or --fix has written a repair; 1 refuted; 3 unknown; 2 bad input; of\n"
      "several the worst, in the order 2, 1, 3, 0.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
