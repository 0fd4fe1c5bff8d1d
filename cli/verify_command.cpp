// ripeline verify: verdicts of one or several programs.
#include <chrono>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "verify/report.h"
#include "verify/report_wire.h"
#include "verify/verify.h"

namespace ripeline::cli {
namespace {

struct VerifyCommand {
  std::vector<std::string> files;
  ProgramOptions program;
  std::string format = "text";
  std::uint64_t steps = verify::VerifyOptions{}.solver_steps;
  bool layouts = false;
  std::string least;  // of what the least is asked for; empty: of nothing
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

// What is asked beside the verdict; it changes no exit code.
void add_wire(const spec::Program& program, const VerifyCommand& command, nlohmann::json& json) {
  const bool text = command.format == "text";
  if (command.layouts) {
    const verify::LayoutTable table = verify::judge_layouts(program);
    if (text) std::cout << verify::layouts_text(table);
    if (!text) json["layouts"] = verify::layouts_json(table);
  }
  if (command.least == "sends") {
    const verify::LeastSends least = verify::least_sends(program, {.solver_steps = command.steps});
    if (text) std::cout << verify::least_sends_text(least);
    if (!text) json["least"]["sends"] = verify::least_sends_json(least);
  }
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
  if (command.format == "json") {
    json = verify::report_json(loaded->program, loaded->source, verdict);
  } else {
    std::cout << verify::report_text(loaded->program, loaded->source, verdict);
  }
  add_wire(loaded->program, command, json);
  return exit_code_of(verdict.outcome);
}

int run(const VerifyCommand& command) {
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
  command->add_flag("--layouts", options->layouts,
                    "of `dispatch in order`: judge its sends and receives for each layout of "
                    "communicators and each way in which kernels share a device");
  command
      ->add_option("--least", options->least,
                   "sends: the fewest credits with which un-grouped sends of `dispatch in "
                   "order` are safe")
      ->check(CLI::IsMember({"sends"}));
  command->footer(
      "Exit codes: 0 proved, 1 refuted, 3 unknown, 2 bad input; of several files the worst, in the "
      "order 2, 1, 3, 0.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
