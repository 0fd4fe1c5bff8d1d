// The program `ripeline`: arguments in, exit code out. Each command is a file of its own.
#include <exception>
#include <initializer_list>
#include <iostream>
#include <new>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/usage.h"

namespace {

// Returns `ok` if all output could be written, and bad_input otherwise.
int written() {
  std::cout.flush();
  if (std::cout) return ripeline::cli::ok;
  std::cerr << "ripeline: cannot write to standard output\n";
  return ripeline::cli::bad_input;
}

// Groups the commands of the help by purpose, and adds a footer for beginners. It must be called
// last, since commands that are added later would take over the footer.
void describe(CLI::App& app) {
  struct Group {
    const char* name;
    std::initializer_list<const char*> commands;
  };
  const Group groups[] = {
      {"Judge schedules", {"check", "verify", "recheck"}},
      {"Run them, and look", {"simulate", "compare", "show", "why", "step", "emulate"}},
      {"Write them", {"library", "optimise", "format", "export"}},
      {"Train", {"generate", "validate", "launch", "check-run", "profile"}}};
  for (const Group& group : groups) {
    for (const char* command : group.commands) app.get_subcommand(command)->group(group.name);
  }
  app.footer(
      "Start with\n"
      "  ripeline check schedule.csv           can this schedule of PyTorch hang?\n"
      "  ripeline verify 1f1b -D ranks=8       a schedule of the library, for every timing\n"
      "  ripeline show 1f1b -D ranks=8 -m 16   draw it\n"
      "  ripeline library bf > chain.ripe      a schedule to read and change\n"
      "`ripeline COMMAND --help` says what each one takes.\n"
      "Exit codes: 0 proved or done, 1 refuted, 2 bad input or usage, 3 unknown, 4 not enough "
      "memory.");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ripeline::cli;
  watch_memory();
  CLI::App app(
      "Ripeline: pipeline-parallel training that runs whatever task is ready, under a proof that "
      "it always can.");
  app.name("ripeline");
  app.require_subcommand(0, 1);

  bool version = false;
  std::string version_format = "text";
  app.add_flag("--version", version, "print the version");
  app.add_option("--format", version_format, "of --version: text or json")
      ->check(CLI::IsMember({"text", "json"}));

  int exit_code = ok;
  add_check(app, exit_code);
  add_verify(app, exit_code);
  add_recheck(app, exit_code);
  add_simulate(app, exit_code);
  add_compare(app, exit_code);
  add_show(app, exit_code);
  add_why(app, exit_code);
  add_step(app, exit_code);
  add_optimise(app, exit_code);
  add_emulate(app, exit_code);
  add_library(app, exit_code);
  add_format(app, exit_code);
  add_export(app, exit_code);
  add_generate(app, exit_code);
  add_validate(app, exit_code);
  add_launch(app, exit_code);
  add_check_run(app, exit_code);
  add_profile(app, exit_code);
  describe(app);

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
  } catch (const std::bad_alloc&) {
    return say_no_memory();
  } catch (const std::exception& e) {
    std::cerr << "ripeline: internal error: " << e.what() << "\nThis is a defect of Ripeline.\n";
    return bad_input;
  }
}
