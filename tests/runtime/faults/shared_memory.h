// Shared memory that a run could leave behind: a /dev/shm of its own, and System V segments.
#pragma once

#include <string>

namespace ripeline::faults {

// Mounts the folder as /dev/shm for this process, which must have its own mounts (small_disk.h).
bool use_for_shared_memory(const std::string& folder);

// System V segments of this user that nobody uses any more: created after `since` (seconds since
// 1970) by a process that has ended, and attached to no process. One line for each.
[[nodiscard]] std::string abandoned_segments(long since);

}  // namespace ripeline::faults
