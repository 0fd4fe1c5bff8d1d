// The launcher alone, for machines that train and have neither Boost nor Z3.
#include <iostream>

#include <CLI/CLI.hpp>

#include "cli/launch_options.h"

int main(int argc, char** argv) {
  CLI::App app("Starts the ranks of one run on this machine, and ends with all of them.");
  app.name("ripeline-launch");
  ripeline::runtime::launcher::LaunchOptions options;
  int grace = static_cast<int>(options.grace.count());
  ripeline::cli::add_launch_options(app, options, grace);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    std::cout.flush();
    if (code == 0 && std::cout) return 0;
    if (code == 0) std::cerr << "ripeline-launch: cannot write to standard output\n";
    return 2;
  }
  options.grace = std::chrono::seconds(grace);
  int exit_code = 0;
  const ripeline::core::Status status = ripeline::runtime::launcher::launch(options, exit_code);
  if (status.ok()) return exit_code;
  std::cerr << "ripeline-launch: " << status.message() << '\n';
  return 2;
}
