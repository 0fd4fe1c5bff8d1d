// ripeline check: schedules of PyTorch, judged before a launch.
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/sarif.h"
#include "cli/summary.h"
#include "load/shorten.h"
#include "pytorch/check_report.h"
#include "pytorch/fix.h"
#include "simulate/amount.h"

namespace ripeline::cli {
namespace {

struct CheckCommand {
  std::vector<std::string> files;
  pytorch::CheckOptions options;
  std::optional<load::Counts> microbatches;
  std::string memory;
  std::string fix;
  std::string format = "text";
};

// Reports on the repair go to standard error, since they are no part of the verdict.
int write_repair(const CheckCommand& command, const pytorch::ReadActions& read,
                 const pytorch::CheckReport& report) {
  if (report.verdict == verify::Outcome::proved) {
    std::cerr << fmt::format("ripeline: nothing to repair; {} is not written\n", command.fix);
    return ok;
  }
  const auto repaired = pytorch::repair(read, report, command.options);
  if (!repaired.ok()) {
    std::cerr << fmt::format("ripeline: no repair; {} is not written: {}\n", command.fix,
                             repaired.errors().front().message);
    return exit_code_of(report.verdict);
  }
  const pytorch::Repair& repair = repaired.value();
  const auto written = write_file(command.fix, pytorch::write_actions(repair.table));
  if (!written.ok()) return say_failed(written.errors());
  std::cerr << fmt::format("ripeline: {} is written, and passes\n", command.fix);
  for (const std::string& change : repair.changes) std::cerr << "  " << change << '\n';
  std::cerr << fmt::format("  peak activations: {} before, {} now\n",
                           fmt::join(repair.peak_before, " "), fmt::join(repair.rank_peak, " "));
  return ok;
}

// The verdicts on all files, in the format that was asked for.
class Checks {
 public:
  explicit Checks(const CheckCommand& command)
      : command_(command), sarif_(SarifLog::Of::schedules) {}

  void add_file(const std::string& file) {
    auto input = said(load::read_input(file, load::Names::files));
    if (input.ok() && input.value().form == load::InputForm::program) {
      input = said(spec::Result<load::Input>(failure(fmt::format(
          "{}: this is a program of the language, and no schedule of PyTorch: `ripeline verify` "
          "judges it, and `ripeline export` writes its order as such a schedule",
          input.value().source.name))));
    }
    if (!input.ok()) return add_bad_input(file, input.errors());
    judge(file, input.value().source);
  }

  void add_bad_input(const std::string& file, const spec::Diagnostics& errors) {
    summary_.add(bad_input);
    if (command_.format == "sarif") sarif_.add_bad_input(file, std::nullopt, errors);
    nlohmann::json messages = nlohmann::json::array();
    for (const spec::Diagnostic& error : errors) {
      messages.push_back({{"id", error.id}, {"message", error.message}, {"hint", error.hint}});
    }
    schedules_.push_back({{"schema", "ripeline.check/2"},
                          {"file", file},
                          {"verdict", "bad input"},
                          {"errors", std::move(messages)}});
  }

  void add_skipped(const load::ProgramsBelow& below) {
    note_skipped(below);
    skipped_.insert(skipped_.end(), below.skipped.begin(), below.skipped.end());
  }

  // `one`: exactly one schedule was asked for, by its own name.
  int finish(bool one) const {
    if (command_.format == "text") {
      if (!one) {
        std::cout << '\n' << summary_.text("schedule") << skipped_text(skipped_.size()) << '\n';
      }
      return summary_.code();
    }
    nlohmann::json json;
    if (command_.format == "sarif") {
      json = sarif_.log(summary_.code(), skipped_);
    } else if (one) {
      json = schedules_.at(0);
    } else {
      json = {{"schema", "ripeline.check.list/2"},
              {"schedules", schedules_},
              {"skipped", skipped_json(skipped_)}};
    }
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return summary_.code();
  }

 private:
  void judge(const std::string& file, const spec::Source& source) {
    const Progress progress("checking " + source.name);
    const pytorch::ReadActions read = pytorch::read_actions(source.text);
    const auto checked = pytorch::check(read, command_.options);
    if (!checked.ok()) {
      for (const spec::Diagnostic& d : checked.errors()) {
        say_failed(
            fmt::format("{}: {}{}", source.name, d.message, d.hint.empty() ? "" : "; " + d.hint));
      }
      return add_bad_input(file, checked.errors());
    }
    const pytorch::CheckReport& report = checked.value();
    if (command_.format == "json") {
      schedules_.push_back(pytorch::check_json(file, source.text, report, command_.options));
    } else if (command_.format == "sarif") {
      sarif_.add_check(file, source, report);
    } else {
      std::cout << (summary_.empty() ? "" : "\n")
                << pytorch::check_text(source.name, read.table, report, command_.options);
    }
    summary_.add(command_.fix.empty() ? exit_code_of(report.verdict)
                                      : write_repair(command_, read, report));
  }

  const CheckCommand& command_;
  Summary summary_;
  nlohmann::json schedules_ = nlohmann::json::array();
  std::vector<load::Skipped> skipped_;
  SarifLog sarif_;
};

int run(CheckCommand& command) {
  const auto count = load::one_count(command.microbatches);
  if (!count.ok()) return say_failed(count.errors());
  command.options.microbatches = count.value();
  if (!command.memory.empty()) {
    const auto memory = simulate::amount_in(command.memory);
    if (!memory || memory->dimension != simulate::Dimension::none || memory->value.numerator == 0) {
      return say_failed(fmt::format(
          "--memory {}: expected microbatches that a rank has room for, a number above 0, as 6 or "
          "2.5: a schedule of PyTorch has no bytes",
          load::shortened(command.memory)));
    }
    command.options.rank_memory = memory->value;
  }
  const bool one = command.files.size() == 1 && !load::is_folder(command.files.front());
  if (!command.fix.empty() && !one) return say_failed("--fix is for one CSV");
  Checks checks(command);
  for (const std::string& file : command.files) {
    if (!load::is_folder(file)) {
      checks.add_file(file);
      continue;
    }
    const load::ProgramsBelow below = load::programs_below(file, load::Below::schedules);
    checks.add_skipped(below);
    for (const std::string& schedule : below.files) checks.add_file(schedule);
    if (!said(below.read).ok()) checks.add_bad_input(file, below.read.errors());
  }
  return checks.finish(one);
}

void add_shape_options(CLI::App& command, pytorch::CheckOptions& o) {
  using pytorch::ActionForm;
  command.add_option("--ranks", o.ranks, "ranks; else as many as the file has rows")
      ->check(integer_from(1));
  command.add_option("--stages", o.stages, "stages in all; else those of the file")
      ->check(integer_from(1));
  add_placement(command, o.placement);
  add_choice<std::optional<ActionForm>, ActionForm>(
      command, "--form", o.form,
      {{"compute_only", ActionForm::compute_only}, {"compute_comms", ActionForm::compute_comms}},
      "what the file will be loaded as; else compute_comms if it has communication");
}

void add_wire_options(CLI::App& command, pytorch::CheckOptions& o) {
  using wire::WireKernels;
  using wire::WireLayout;
  add_choice<WireLayout, WireLayout>(
      command, "--layout", o.layout,
      {{"group", WireLayout::group}, {"pair", WireLayout::pair}, {"edge", WireLayout::edge}},
      "communicators: one for the group (default), per pair of ranks, per pair and direction");
  add_choice<WireKernels, WireKernels>(
      command, "--kernels", o.kernels,
      {{"per-stream", WireKernels::per_stream},
       {"launch-order", WireKernels::launch_order},
       {"serial", WireKernels::serial}},
      "which kernels share a device: all (default), in launch order, no two");
  command.add_flag("--layouts", o.all_layouts, "print the verdict of every layout and level");
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "check", "judge schedules of PyTorch (CSV): each rule with row, column and reason");
  auto options = std::make_shared<CheckCommand>();
  command
      ->add_option("CSV", options->files,
                   "the schedule, or - for standard input; or a folder: every schedule below it")
      ->required();
  add_shape_options(*command, options->options);
  add_microbatches(*command, options->microbatches, "microbatches; else those of the file");
  command
      ->add_option(
          "--memory", options->memory,
          "a rank's room, in microbatches of all of its stages, as for `compare` and `optimise`: "
          "an activation of a stage is 1/K of one where a rank has K stages")
      ->type_name("N");
  command
      ->add_option("--stage-memory", options->options.stage_memory,
                   "a stage's room, in activations of that stage: microbatches in flight there")
      ->check(integer_from(1));
  command->add_flag("!--no-reduce", options->options.reduce,
                    "the file is for a PyTorch from before REDUCE_GRAD");
  add_wire_options(*command, options->options);
  command->add_option("--fix", options->fix,
                      "write a repaired schedule that passes, or nothing, and say what changed");
  command->add_option("--format", options->format, "text, or json or sarif on standard output")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
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
