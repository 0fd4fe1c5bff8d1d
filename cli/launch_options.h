// The arguments of `ripeline launch` and `ripeline-launch`, which are one command.
#pragma once

#include <CLI/App.hpp>

#include "runtime/launcher/launch.h"

namespace ripeline::cli {

inline void add_launch_options(CLI::App& command, runtime::launcher::LaunchOptions& options,
                               int& grace) {
  command.add_option("-n,--ranks", options.ranks, "how many ranks to start")
      ->required()
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command.add_flag("!--no-prefix", options.prefix, "do not write [rank N] before each line");
  command
      .add_option(
          "--grace", grace,
          "seconds that the other ranks get to end when one has failed, and a reader of the "
          "output when all have ended")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  command
      .add_option("PROGRAM", options.command,
                  "the program of each rank and its arguments, after --")
      ->required();
  command.footer(
      "Example: ripeline launch -n 4 -- ./train --steps 100\n"
      "Each rank gets torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, …). Output "
      "is prefixed by rank;\n"
      "the exit code is that of the first rank that fails; Ctrl-C ends all.");
}

}  // namespace ripeline::cli
