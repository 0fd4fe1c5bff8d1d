// ripeline launch: the ranks of one run, on this machine.
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/launch_options.h"

namespace ripeline::cli {

void add_launch(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("launch", "start the ranks of a program on this machine");
  auto options = std::make_shared<runtime::launcher::LaunchOptions>();
  auto grace = std::make_shared<int>(static_cast<int>(options->grace.count()));
  add_launch_options(*command, *options, *grace);
  command->callback([options, grace, &exit_code] {
    options->grace = std::chrono::seconds(*grace);
    if (const core::Status status = runtime::launcher::launch(*options, exit_code); !status.ok()) {
      std::cerr << "ripeline: " << status.message() << '\n';
      exit_code = bad_input;
    }
  });
}

}  // namespace ripeline::cli
