// launcher/processes: the children of this process, and their end.
//
// Processes are found in /proc; where /proc is not mounted, none are found.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace ripeline::runtime::launcher {

// This process's children, including ended ones that nobody has waited for. When a descendant ends,
// its children become those of the nearest subreaper above it (PR_SET_CHILD_SUBREAPER).
std::vector<pid_t> children();

// Ends this process's children except `spared`, and those that it inherits from them, by SIGKILL,
// until none are left. For a subreaper these are all descendants, in any group and session. Returns
// those that are left after `limit`, since a process that hangs in the kernel may not end.
std::vector<pid_t> end_children(std::chrono::nanoseconds limit,
                                const std::vector<pid_t>& spared = {});

// The name of a signal, such as `SIGKILL`; `signal 40` for a signal without a name.
std::string signal_name(int number);

}  // namespace ripeline::runtime::launcher
