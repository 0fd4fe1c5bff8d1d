// ripeline export: a program's order as a schedule of PyTorch (CSV).
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/microbatch_flag.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "pytorch/check_report.h"
#include "pytorch/export.h"

namespace ripeline::cli {
namespace {

struct ExportCommand {
  std::string file;
  load::ProgramOptions program;
  std::optional<load::Counts> microbatches;
  std::string form = "compute_only";
  std::string output;
};

const char* schedule_class(pytorch::Placement placement) {
  switch (placement) {
    case pytorch::Placement::chain:
      return "1F1B";
    case pytorch::Placement::loop:
      return "Interleaved1F1B";
    case pytorch::Placement::v:
      return "ZBVZeroBubble";
  }
  return "";
}

bool splits_backward(const pytorch::ActionTable& table) {
  for (const auto& row : table.rows) {
    for (const auto& cell : row) {
      if (cell.actions.front().kind == pytorch::ActionKind::backward_input) return true;
    }
  }
  return false;
}

// The settings that the launch needs and the file does not have.
std::string companion(const ExportCommand& command, const pytorch::ExportedActions& exported,
                      int microbatches) {
  const char* name = schedule_class(exported.placement);
  std::string text = fmt::format(
      "{}: {}, {} ranks, {} stages, {} microbatches, placement {}; passes `ripeline check`\n"
      "{}"
      "load it with\n"
      "  PyTorch         schedule = _PipelineScheduleRuntime(stages, n_microbatches={}, "
      "loss_fn=loss_fn)\n"
      "                  schedule._load_csv(\"{}\", format=\"{}\")\n",
      command.output, command.form, exported.map.ranks, exported.map.stages(), microbatches,
      name_of(exported.placement),
      command.form == "compute_only" ? "computations alone: PyTorch derives the communication; "
                                       "--form compute_comms writes both\n"
                                     : "",
      microbatches, command.output, command.form);
  if (command.form == "compute_only") {
    text += fmt::format(
        "  TorchTitan      --parallelism.pipeline_parallel_degree {} "
        "--parallelism.pipeline_parallel_schedule {} "
        "--parallelism.pipeline_parallel_schedule_csv {}\n"
        "  NeMo AutoModel  pp_size={} pp_schedule={} pp_schedule_csv={}\n"
        "  and a batch of {} times the microbatch size\n",
        exported.map.ranks, name, command.output, exported.map.ranks, name, command.output,
        microbatches);
  } else {
    text += "  TorchTitan and NeMo AutoModel load compute_only files alone\n";
  }
  if (splits_backward(exported.table)) {
    text += "split backward (I, W) has known defects with torch.compile, FlexAttention and DDP\n";
  }
  return text;
}

int run(const ExportCommand& command) {
  const auto compiled =
      load_program(command.file, load::of_step(command.program, command.microbatches));
  if (!compiled.ok()) return bad_input;
  const load::LoadedProgram& loaded = compiled.value();
  const auto count = load::count_of_step(command.microbatches, loaded.program);
  if (!count.ok()) return say_failed(count.errors());
  const int microbatches = count.value();
  const auto exported = [&] {
    const Progress progress("running " + loaded.source.name);
    return pytorch::export_actions(loaded.program, microbatches);
  }();
  if (!exported.ok()) {
    std::cerr << spec::render(loaded.source, exported.errors());
    return bad_input;
  }
  const pytorch::ExportedActions& actions = exported.value();
  const bool comms = command.form == "compute_comms";
  const std::string text = pytorch::write_actions(
      comms ? as_loaded(actions.table, actions.map, microbatches).table : actions.table);
  const pytorch::CheckOptions options{
      .ranks = actions.map.ranks,
      .stages = actions.map.stages(),
      .microbatches = microbatches,
      .placement = actions.placement,
      .form = comms ? pytorch::ActionForm::compute_comms : pytorch::ActionForm::compute_only};
  const pytorch::ReadActions read = pytorch::read_actions(text);
  const auto checked = pytorch::check(read, options);
  if (!checked.ok() || checked.value().verdict != verify::Outcome::proved) {
    std::cerr << "ripeline: PyTorch needs more than the program says; nothing is written\n";
    if (checked.ok()) {
      std::cerr << pytorch::check_text(command.output, read.table, checked.value(), options);
    }
    return refuted;
  }
  const auto written = write_file(command.output, text);
  if (!written.ok()) return say_failed(written.errors());
  (command.output == "-" ? std::cerr : std::cout) << companion(command, actions, microbatches);
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
  command
      ->add_option("--form", options->form,
                   "compute_only (default, whatever FILE is): PyTorch derives the communication; "
                   "compute_comms: everything is written")
      ->check(CLI::IsMember({"compute_only", "compute_comms"}));
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
