// launcher/launch: starts the ranks of one run on this machine, and waits until all have ended.
//
// Each rank is a process with torchrun's variables, in a process group of its own. Its lines of
// output get a prefix, `[rank 2] `. If a signal ends a rank, the launcher reports this: `rank 2 was
// ended by SIGKILL`. The result is the first failing rank's exit code (128 + signal if a signal
// ended it), or 0 when all end well. When a rank fails, the others have `grace` to end by
// themselves; then they get SIGTERM, then SIGKILL. SIGINT, SIGTERM and SIGHUP end all ranks in the
// same way without grace; a signal that was ignored when launch() was called stays ignored.
//
// Even if the launcher is killed, no process (in any session), socket or folder is left behind.
// Ranks block while nobody reads their output, but the launcher does not wait for ever: output that
// nobody has read `grace` after the end is dropped, and the launcher reports that.
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

// Blocks until all ranks have ended. Fails only if not all ranks could be started. The caller's
// process must have one thread; its other children are left alone.
core::Status launch(const LaunchOptions& options, int& exit_code);

}  // namespace ripeline::runtime::launcher
