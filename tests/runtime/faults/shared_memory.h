// Shared memory that a run could leave behind: in a /dev/shm of its own, and System V's.
#pragma once

#include <string>

namespace ripeline::faults {

// This process, with mounts of its own (small_disk.h), has the folder for /dev/shm from now on.
bool use_for_shared_memory(const std::string& folder);

// System V segments of this user that nobody can miss: their creator, who has ended, made them
// after `since` (seconds since 1970), and nobody is attached. A line for each.
[[nodiscard]] std::string abandoned_segments(long since);

}  // namespace ripeline::faults
