// ripeline verify: verdicts of one or several programs.
#include <chrono>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/certificate_folder.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "verify/report.h"
#include "verify/verify.h"

namespace ripeline::cli {
namespace {

struct VerifyCommand {
  std::vector<std::string> files;
  ProgramOptions program;
  std::string format = "text";
  std::uint64_t steps = verify::VerifyOptions{}.solver_steps;
  std::string certificate;  // the folder; empty: none
};

int exit_code_of(verify::Outcome outcome) {
  switch (outcome) {
    case verify::Outcome::proved:
      return ok;
    case verify::Outcome::refuted:
      return refuted;
    case verify::Outcome::unknown:
      return unknown;
  }
  return unknown;
}

nlohmann::json bad_input_json(const std::string& file, const spec::Diagnostics& errors) {
  nlohmann::json list = nlohmann::json::array();
  std::string error;
  const auto source = file == "-" ? std::nullopt : read_source(file, error);
  for (const spec::Diagnostic& d : errors) {
    nlohmann::json entry = {{"id", d.id}, {"message", d.message}, {"hint", d.hint}};
    if (source) {
      const spec::Position at = spec::position_of(*source, d.span.begin);
      entry["line"] = at.line;
      entry["column"] = at.column;
    }
    list.push_back(entry);
  }
  return {{"schema", "ripeline.verify/1"},
          {"program", file},
          {"verdict", "bad input"},
          {"errors", list}};
}

// Of every verdict: unknown as well, which says so.
bool write_evidence(const Loaded& loaded, const VerifyCommand& command,
                    const verify::Verdict& verdict) {
  std::string error;
  const auto options = elaborate_options(command.program, error);
  const verify::Files files =
      verify::certificate_of(loaded.source, *options, loaded.program, verdict, RIPELINE_VERSION);
  if (write_certificate(command.certificate, files, error)) return true;
  std::cerr << "ripeline: " << error << '\n';
  return false;
}

int verify_one(const std::string& file, const VerifyCommand& command, nlohmann::json& json) {
  spec::Diagnostics errors;
  const auto loaded = load(file, command.program, &errors);
  if (!loaded) {
    json = bad_input_json(file, errors);
    return bad_input;
  }
  const verify::Verdict verdict = [&] {
    const Progress progress("proving " + loaded->source.name);
    return verify::verify(loaded->program, {.solver_steps = command.steps});
  }();
  if (!command.certificate.empty() && !write_evidence(*loaded, command, verdict)) return bad_input;
  if (command.format == "json") {
    json = verify::report_json(loaded->program, loaded->source, verdict);
  } else {
    std::cout << verify::report_text(loaded->program, loaded->source, verdict);
  }
  return exit_code_of(verdict.outcome);
}

int run(const VerifyCommand& command) {
  if (!command.certificate.empty() && command.files.size() > 1) {
    std::cerr << "ripeline: --certificate is for one FILE; give each its own folder\n";
    return bad_input;
  }
  int code = ok;
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& file : command.files) {
    nlohmann::json one;
    code = worse(code, verify_one(file, command, one));
    all.push_back(std::move(one));
  }
  if (command.format == "json") {
    std::cout << (all.size() == 1
                      ? all[0]
                      : nlohmann::json{{"schema", "ripeline.verify.list/1"}, {"programs", all}})
                     // A file's name may be bytes that are no text.
                     .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
              << '\n';
  }
  return code;
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("verify",
                                         "prove a program free of deadlock, within its memory, "
                                         "every task once: for every timing and count");
  auto options = std::make_shared<VerifyCommand>();
  command->add_option("FILE", options->files, kFileHelp)->required();
  add_program_options(*command, options->program);
  command->add_option("--format", options->format, "text, or json on standard output")
      ->check(CLI::IsMember({"text", "json"}));
  command->add_option("--steps", options->steps, "limit of each solver query, in solver steps");
  command
      ->add_option("--certificate", options->certificate,
                   "write what the verdict rests on into this folder, for `ripeline recheck`")
      ->type_name("DIR");
  command->footer(
      "Exit codes: 0 proved, 1 refuted, 3 unknown, 2 bad input; of several files the worst, in the "
      "order 2, 1, 3, 0.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
