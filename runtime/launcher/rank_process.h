// launcher/rank_process: the code by which a forked child becomes a rank.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/launcher/inherited.h"
#include "runtime/launcher/output.h"

namespace ripeline::runtime::launcher {

// The plan of a run, the same for all its ranks.
struct RunPlan {
  int ranks = 1;
  std::vector<std::string> command;
  std::string folder;  // for the run's sockets
  std::string port;    // free when the run began
};

// Gives this process torchrun's variables and a rank's outputs, and executes the command. The
// process is killed when `parent` ends. Exits with 127 or 126, and an error, if exec() fails.
[[noreturn]] void become_rank(const RunPlan& plan, int rank, RankOutputs outputs,
                              const Inherited& inherited, pid_t parent);

}  // namespace ripeline::runtime::launcher
