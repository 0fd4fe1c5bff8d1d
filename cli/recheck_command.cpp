// ripeline recheck: checks a certificate with another solver.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "certificates/folder.h"
#include "certificates/recheck_report.h"
#include "certificates/solver_program.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace ripeline::cli {
namespace {

struct RecheckCommand {
  std::string folder;
  std::string solver = "cvc5";
  std::string format = "text";
  int seconds = 60;
};

int exit_code_of_recheck(certificates::RecheckResult result) {
  switch (result) {
    case certificates::RecheckResult::accepted:
      return ok;
    case certificates::RecheckResult::rejected:
      return refuted;
    case certificates::RecheckResult::undecided:
      return unknown;
    case certificates::RecheckResult::no_input:
      break;
  }
  return bad_input;
}

int run(const RecheckCommand& command) {
  const auto files = certificates::read_certificate(command.folder);
  if (!files.ok()) return say_failed(files.errors());
  const certificates::SolverProgram program{command.solver, std::chrono::seconds(command.seconds)};
  std::string solver = "no solver asked";
  bool missing = false;
  const certificates::RecheckReport report = [&] {
    const Progress progress("rechecking " + command.folder);
    return certificates::recheck(files.value(), [&](const std::vector<std::string>& texts) {
      const auto version = program.version();
      missing = !version;
      solver = version.value_or(command.solver);
      return missing ? std::vector<certificates::Reply>(texts.size()) : program.ask(texts);
    });
  }();
  if (missing) {
    return say_failed(fmt::format(
        "the solver {} cannot be run. On Debian: apt-get install cvc5; or name another one that "
        "reads SMT-LIB 2 files with --solver",
        command.solver));
  }
  if (command.format == "json") {
    print_json(certificates::recheck_json(report, solver));
  } else {
    std::cout << certificates::recheck_text(command.folder, report, solver);
  }
  return exit_code_of_recheck(report.result);
}

}  // namespace

void add_recheck(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "recheck", "check a certificate of `verify --certificate` with another solver");
  auto options = std::make_shared<RecheckCommand>();
  command->add_option("DIR", options->folder, "the certificate's folder")->required();
  command
      ->add_option("--solver", options->solver,
                   "a program that reads an SMT-LIB 2 file and prints sat or unsat")
      ->type_name("PROGRAM")
      ->capture_default_str();
  command->add_option("--time-limit", options->seconds, "seconds for each question")
      ->check(integer_from(1, 86'400))
      ->capture_default_str();
  command->add_option("--format", options->format, "text, or json on standard output")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Exit codes: 0 accepted: what the certificate claims, proved or refuted, is so; 1 rejected; "
      "2 no certificate, or no solver; 3 undecided: among them certificates of verdict unknown.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace ripeline::cli
