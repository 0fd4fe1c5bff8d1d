// launcher/processes: the children of this process, and their end.
//
// What is found is read from /proc; where that is not mounted there is nobody.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace ripeline::runtime::launcher {

// This process's children, also ended ones that nobody waited for. A process that a descendant
// leaves becomes a child of the nearest subreaper above it (PR_SET_CHILD_SUBREAPER).
std::vector<pid_t> children();

// Ends this process's children but `spared` with SIGKILL, and what they leave to it, until there
// are none. For a subreaper these are all its descendants, whatever their groups and sessions.
// Returns those that are still there after `limit`: a process in the kernel may not end.
std::vector<pid_t> end_children(std::chrono::nanoseconds limit,
                                const std::vector<pid_t>& spared = {});

// SIGKILL; the number for one without a name.
std::string signal_name(int number);

}  // namespace ripeline::runtime::launcher
