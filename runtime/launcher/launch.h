// launcher/launch: starts the ranks of one run on this machine and ends with all of them.
//
// Each rank is a process with torchrun's variables, in a process group of its own; its lines come
// out prefixed `[rank 2] `. Of a rank that a signal ends the launcher says so, `rank 2 was ended by
// SIGKILL`. The result is the first failing rank's exit code (128 + signal if a signal ended it), 0
// when all end well. When one fails the others get `grace` to end by themselves, then SIGTERM, then
// SIGKILL. SIGINT, SIGTERM and SIGHUP end all the same way, without the grace; one that was ignored
// when launch() was called stays ignored.
//
// Nothing is left behind, even if the launcher is killed: no process, in whatever session, no
// socket, no folder. Nothing waits for ever either: ranks whose output nobody reads wait, the
// launcher does not, and what nobody has read `grace` after the end is left out, which is said.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/status.h"

namespace ripeline::runtime::launcher {

struct LaunchOptions {
  int ranks = 1;
  std::vector<std::string> command;  // program and arguments
  bool prefix = true;                // `[rank N] ` before each line
  std::chrono::seconds grace{10};
};

// Blocks until all ranks have ended. Fails by status only when not all could be started. The
// caller's process has one thread; its other children are left alone.
core::Status launch(const LaunchOptions& options, int& exit_code);

}  // namespace ripeline::runtime::launcher
