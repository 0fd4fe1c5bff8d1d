// ripeline check: a schedule of PyTorch, judged before a launch.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "pytorch/check_report.h"
#include "pytorch/fix.h"

namespace ripeline::cli {
namespace {

struct CheckCommand {
  std::string file;
  verify::CheckOptions options;
  std::string fix;
  std::string format = "text";
};

// What was done is no part of the verdict: it goes to standard error.
int write_repair(const CheckCommand& command, const spec::ReadActions& read,
                 const verify::CheckReport& report) {
  if (report.verdict == verify::Outcome::proved) {
    std::cerr << fmt::format("ripeline: nothing to repair; {} is not written\n", command.fix);
    return ok;
  }
  const auto repaired = verify::repair(read, report, command.options);
  if (!repaired.ok()) {
    std::cerr << fmt::format("ripeline: no repair; {} is not written: {}\n", command.fix,
                             repaired.errors().front().message);
    return exit_code_of(report.verdict);
  }
  const verify::Repair& repair = repaired.value();
  const auto written = write_file(command.fix, spec::write_actions(repair.table));
  if (!written.ok()) return say_failed(written.errors());
  std::cerr << fmt::format("ripeline: {} is written, and passes\n", command.fix);
  for (const std::string& change : repair.changes) std::cerr << "  " << change << '\n';
  return ok;
}

int run(const CheckCommand& command) {
  const auto file = read_file(command.file);
  if (!file.ok()) return say_failed(file.errors());
  const spec::Source& source = file.value();
  const Progress progress("checking " + source.name);
  const spec::ReadActions read = spec::read_actions(source.text);
  const auto checked = verify::check(read, command.options);
  if (!checked.ok()) {
    for (const spec::Diagnostic& d : checked.errors()) {
      std::cerr << fmt::format("ripeline: {}: {}{}\n", source.name, d.message,
                               d.hint.empty() ? "" : "; " + d.hint);
    }
    return bad_input;
  }
  const verify::CheckReport& report = checked.value();
  if (command.format == "json") {
    std::cout << verify::check_json(source.name, source.text, report, command.options)
                     .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
              << '\n';
  } else {
    std::cout << verify::check_text(source.name, read.table, report, command.options);
  }
  return command.fix.empty() ? exit_code_of(report.verdict) : write_repair(command, read, report);
}

// One of a few names, each with its value.
template <class Target, class Value>
CLI::Option* add_choice(CLI::App& command, const char* name, Target& target,
                        const std::vector<std::pair<std::string, Value>>& values,
                        const char* help) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value.first);
  return command
      .add_option_function<std::string>(
          name,
          [&target, values](const std::string& text) {
            for (const auto& [value_name, value] : values) {
              if (value_name == text) target = value;
            }
          },
          help)
      ->check(CLI::IsMember(names));
}

void add_shape_options(CLI::App& command, verify::CheckOptions& o) {
  using spec::Placement;
  using verify::ActionForm;
  command.add_option("--ranks", o.ranks, "ranks; else as many as the file has rows");
  command.add_option("--stages", o.stages, "stages in all; else those of the file");
  command.add_option("-m,--microbatches", o.microbatches, "microbatches; else those of the file");
  add_choice<std::optional<Placement>, Placement>(
      command, "--placement", o.placement,
      {{"chain", Placement::chain}, {"loop", Placement::loop}, {"v", Placement::v}},
      "which rank owns a stage; PyTorch's schedule class says it, not the file");
  add_choice<std::optional<ActionForm>, ActionForm>(
      command, "--form", o.form,
      {{"compute_only", ActionForm::compute_only}, {"compute_comms", ActionForm::compute_comms}},
      "what the file will be loaded as; else compute_comms if it has communication");
}

void add_wire_options(CLI::App& command, verify::CheckOptions& o) {
  using verify::WireKernels;
  using verify::WireLayout;
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
      "check", "judge a schedule of PyTorch (CSV): each rule with row, column and reason");
  auto options = std::make_shared<CheckCommand>();
  command->add_option("CSV", options->file, "the schedule, or - for standard input")->required();
  add_shape_options(*command, options->options);
  command
      ->add_option("--memory", options->options.rank_memory,
                   "most microbatches in flight on a rank, over its stages")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--stage-memory", options->options.stage_memory,
                   "most microbatches in flight at one stage")
      ->check(CLI::PositiveNumber);
  command->add_flag("!--no-reduce", options->options.reduce,
                    "the file is for a PyTorch from before REDUCE_GRAD");
  add_wire_options(*command, options->options);
  command->add_option("--fix", options->fix,
                      "write a repaired schedule that passes, or nothing, and say what changed");
  command->add_option("--format", options->format, "text, or json on standard output")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Exit codes: 0 proved, or --fix has written a repair; 1 refuted; 3 unknown; 2 bad input.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
