// launcher/run_folder: the folder of a run on this host, which the run's guard keeps locked.
//
// The guard removes the folder, or else the launcher does. If both are killed at the same instant,
// the next run removes it.
#pragma once

#include <string>

namespace ripeline::runtime::launcher {

// The path of a new folder: beside other temporary files, and short enough for a socket's address.
[[nodiscard]] std::string new_run_folder();

// Makes the folder, with mode 0700. Returns the descriptor that locks it, or -1 with errno.
[[nodiscard]] int make_run_folder(const std::string& path);

// Removes this user's run folders beside `path` that nobody has locked. Spares folders younger than
// a minute, which may not be locked yet.
void remove_abandoned_folders(const std::string& path);

}  // namespace ripeline::runtime::launcher
