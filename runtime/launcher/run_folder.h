// launcher/run_folder: the folder of a run on this host, which its guard holds.
//
// The guard removes it, or else the launcher. When both are killed at the same instant nobody is
// left who could: the next run does.
#pragma once

#include <string>

namespace ripeline::runtime::launcher {

// A new one's name: beside other temporary files, short enough for a socket's address.
[[nodiscard]] std::string new_run_folder();

// Makes it, mode 0700. The descriptor that is returned holds it; -1, with errno: it cannot be made.
[[nodiscard]] int make_run_folder(const std::string& path);

// Removes those of this user beside `path` that nobody holds. One that is a minute old is held, if
// its guard lives.
void remove_abandoned_folders(const std::string& path);

}  // namespace ripeline::runtime::launcher
