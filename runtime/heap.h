// The process's heap, in a process that trains.
#pragma once

namespace ripeline::runtime {

// From now on, what is freed stays with the process: buffers of up to 32 MiB, which glibc would
// give back to the system and map anew, page by page, when the next task takes as much. What a
// process holds is then the most that it has had at once. Changes nothing where the environment
// sets one of these (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_, GLIBC_TUNABLES), or with
// another C library.
void keep_freed_memory();

}  // namespace ripeline::runtime
