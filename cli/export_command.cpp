// ripeline export: a program's order as a schedule of PyTorch (CSV).
#include <iostream>
#include <memory>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "pytorch/check_report.h"
#include "pytorch/export.h"

namespace ripeline::cli {
namespace {

using pytorch::ActionForm;

struct ExportCommand {
  std::string file;
  load::ProgramOptions program;
  std::optional<load::Counts> microbatches;
  ActionForm form = ActionForm::compute_only;
  std::string output;
};

int run(const ExportCommand& command) {
  const auto compiled =
      load_program(command.file, load::of_step(command.program, command.microbatches));
  if (!compiled.ok()) return bad_input;
  const load::LoadedProgram& loaded = compiled.value();
  const auto count = load::count_of_step(command.microbatches, loaded.program);
  if (!count.ok()) return say_failed(count.errors());
  const auto exported = [&] {
    const Progress progress("running " + loaded.source.name);
    return pytorch::export_file(loaded.program, count.value(), command.form);
  }();
  if (!exported.ok()) {
    std::cerr << spec::render(loaded.source, exported.errors());
    return bad_input;
  }
  const pytorch::ExportedFile& file = exported.value();
  if (file.report.verdict != verify::Outcome::proved) {
    std::cerr << "ripeline: " << pytorch::kNeedsMore << "; nothing is written\n"
              << pytorch::check_text(command.output, file.table, file.report, file.options);
    return refuted;
  }
  const auto written = write_file(command.output, file.text);
  if (!written.ok()) return say_failed(written.errors());
  (command.output == "-" ? std::cerr : std::cout) << pytorch::loading_text(command.output, file);
  return ok;
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "export", "write a program's order as a schedule of PyTorch (CSV), and how to load it");
  auto options = std::make_shared<ExportCommand>();
  command->add_option("FILE", options->file, kFileHelp)->required();
  add_program_options(*command, options->program);
  add_microbatches(*command, options->microbatches, "microbatches of a step");
  add_named_choice(*command, "--form", options->form,
                   {ActionForm::compute_only, ActionForm::compute_comms},
                   "compute_only (default, whatever FILE is): PyTorch derives the communication; "
                   "compute_comms: everything is written");
  command->add_option("-o", options->output, "the CSV to write, or - for standard output")
      ->required();
  command->footer(
      "Example\n"
      "  ripeline export zb_v -D ranks=4 -m 8 -o zb_v.csv\n"
      "A readiness-first program is run once, on its costs: the file has that order, and no "
      "choice.\n"
      "Exit codes: 0 written, 1 PyTorch would refuse or hang on it, 2 bad input.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
