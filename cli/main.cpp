// The program `ripeline`: arguments in, exit code out. Each command is a file of its own.
#include <exception>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/usage.h"

namespace {

// Ok when all that was printed could be written.
int written() {
  std::cout.flush();
  if (std::cout) return ripeline::cli::ok;
  std::cerr << "ripeline: cannot write to standard output\n";
  return ripeline::cli::bad_input;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ripeline::cli;
  CLI::App app(
      "Ripeline: pipeline-parallel training that runs whatever task is ready, under a proof that "
      "it always can.");
  app.name("ripeline");
  app.footer(
      "Start with\n"
      "  ripeline library bf > chain.ripe      a schedule to read and change\n"
      "  ripeline verify chain.ripe -D ranks=8 can it hang? for every timing and microbatch count\n"
      "  ripeline generate chain.ripe --name chain -o chain.h\n"
      "Exit codes: 0 proved or done, 1 refuted, 2 bad input or usage, 3 unknown.");
  app.require_subcommand(0, 1);

  bool version = false;
  std::string version_format = "text";
  app.add_flag("--version", version, "print the version");
  app.add_option("--format", version_format, "of --version: text or json")
      ->check(CLI::IsMember({"text", "json"}));

  int exit_code = ok;
  add_verify(app, exit_code);
  add_recheck(app, exit_code);
  add_generate(app, exit_code);
  add_validate(app, exit_code);
  add_check_run(app, exit_code);
  add_library(app, exit_code);
  add_format(app, exit_code);
  add_check(app, exit_code);
  add_export(app, exit_code);
  add_simulate(app, exit_code);
  add_emulate(app, exit_code);
  add_profile(app, exit_code);
  add_show(app, exit_code);
  add_why(app, exit_code);
  add_step(app, exit_code);
  add_compare(app, exit_code);
  add_tune(app, exit_code);
  add_launch(app, exit_code);

  if (const auto large = too_large(argc, argv)) {
    std::cerr << *large;
    return bad_input;
  }
  try {
    app.parse(argc, argv);
    if (version) {
      if (version_format == "json") {
        std::cout << nlohmann::json{{"schema", "ripeline.version/1"}, {"version", RIPELINE_VERSION}}
                         .dump()
                  << '\n';
      } else {
        std::cout << "ripeline " RIPELINE_VERSION "\n";
      }
    } else if (app.get_subcommands().empty()) {
      std::cerr << app.help();
      return bad_input;
    }
    return written() == ok ? exit_code : bad_input;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e) == 0 ? written() : bad_input;  // --help
    std::cerr << usage_error(app, e, argc, argv);
    return bad_input;
  } catch (const std::exception& e) {
    std::cerr << "ripeline: internal error: " << e.what() << "\nThis is a defect of Ripeline.\n";
    return bad_input;
  }
}
