// ripeline generate: proves a program and writes its arbiter, in one process.
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "codegen/generate.h"
#include "spec/render.h"
#include "verify/report.h"
#include "verify/verify.h"

namespace ripeline::cli {
namespace {

struct GenerateCommand {
  std::string file;
  load::ProgramOptions program;
  std::string name;
  std::string output;
  std::string probe;
  std::string runs_it;  // the argument of --for, `torch`; empty if not given
  std::uint64_t steps = verify::VerifyOptions{}.solver_steps;
  bool unproved = false;
};

constexpr const char* kOtherRuntime =
    "LibTorch stages would refuse it when they start; for another runtime leave `--for torch` out";

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// The command that makes the header again, as typed in the folder of the source.
std::string regenerate(const GenerateCommand& command) {
  std::string text = "ripeline generate " + base_name(command.file);
  for (const std::string& define : command.program.defines) text += " -D " + define;
  if (!command.program.dispatch.empty())
    text += fmt::format(" --dispatch \"{}\"", command.program.dispatch);
  if (command.program.placement) text += " --placement " + name_of(*command.program.placement);
  if (command.program.microbatches) text += " -m " + command.program.microbatches->text();
  if (!command.runs_it.empty()) text += " --for " + command.runs_it;
  text += " --name " + command.name;
  if (command.unproved) text += " --unproved";
  return text + " -o " + base_name(command.output);
}

// Writes the header, and the probe if asked for. Returns the exit code.
int write_both(const GenerateCommand& command, const std::string& header) {
  auto written = write_file(command.output, header);
  if (written.ok() && !command.probe.empty()) {
    written = write_file(command.probe, codegen::probe(command.name, base_name(command.output)));
  }
  return written.ok() ? ok : say_failed(written.errors());
}

int run(const GenerateCommand& command) {
  const auto compiled = load_program(command.file, command.program);
  if (!compiled.ok()) return bad_input;
  const load::LoadedProgram& loaded = compiled.value();
  std::cerr << spec::render(loaded.source, load::warnings_of(loaded), spec::Severity::warning);
  if (command.runs_it == "torch") {
    spec::Diagnostics errors = codegen::not_trained(loaded.program);
    for (spec::Diagnostic& error : errors) {
      // No user wrote the text of the program that a schedule of PyTorch stands for.
      if (loaded.form == load::InputForm::schedule) error.span = {};
      if (loaded.form == load::InputForm::program) error.hint = kOtherRuntime;
    }
    say_errors({loaded.source, loaded.form}, errors);
    if (!errors.empty()) return bad_input;
  }
  const codegen::GenerateOptions options{
      .name = command.name, .file = base_name(loaded.source.name), .command = regenerate(command)};
  if (const auto missing = codegen::not_generated(loaded.program); !missing.empty()) {
    std::cerr << fmt::format("ripeline: {}: not supported by generate yet: {}\n",
                             loaded.source.name, fmt::join(missing, ", "));
    return unknown;
  }
  if (command.unproved) {
    std::cerr << "ripeline: nothing was proved of this program; the file says so\n";
    return write_both(command, codegen::generate_unproved(loaded.program, options));
  }
  const verify::Verdict verdict = [&] {
    const Progress progress("proving " + loaded.source.name);
    return verify::verify(loaded.program, {.solver_steps = command.steps});
  }();
  if (!verdict.proved) {
    std::cerr << verify::report_text(loaded.program, loaded.source, verdict);
    return exit_code_of(verdict.outcome);
  }
  return write_both(command, codegen::generate(*verdict.proved, options));
}

}  // namespace

void add_generate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "generate", "prove a program and write its arbiter as one C++ header; no proof, no file");
  auto options = std::make_shared<GenerateCommand>();
  command->add_option("FILE", options->file, kFileHelp)->required();
  add_judged_options(*command, options->program);
  const CLI::Validator identifier(
      [](std::string& text) {
        return codegen::is_namespace(text) ? std::string()
                                           : "'" + text + "' cannot name the C++ namespace";
      },
      "NAME");
  command->add_option("--name", options->name, "the namespace of the generated code")
      ->required()
      ->check(identifier);
  command->add_option("-o", options->output, "the header to write, or - for standard output")
      ->required();
  command
      ->add_option(
          "--for", options->runs_it,
          "what runs it, else any runtime: torch refuses what LibTorch stages cannot train "
          "with")
      ->type_name("RUNTIME")
      ->check(CLI::IsMember({"torch"}));
  command->add_option("--probe", options->probe,
                      "also write a program that answers `ripeline validate` for the header");
  command->add_option("--steps", options->steps, "limit of each solver query, in solver steps")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()));
  command->add_flag("--unproved", options->unproved, "write it without a proof, marked so");
  command->footer(
      "Examples\n"
      "  ripeline generate bf -D ranks=8 --name bf -o bf.h\n"
      "  ripeline generate chain.ripe --name chain -o chain.h --probe chain_probe.cpp\n"
      "In CMake, ripeline_add_schedule() calls it (docs/runtime.md).\n"
      "Exit codes: 0 proved and written, 1 refuted, 2 bad input, 3 unknown.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
