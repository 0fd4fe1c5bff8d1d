// The process's heap, in a process that trains.
#pragma once

namespace ripeline::runtime::training {

// From now on, freed buffers of up to 32 MiB stay with the process. Otherwise glibc would give them
// back to the system and map them anew, page by page, when the next task takes as much. The process
// then holds the most that it has ever had at once. Changes nothing if the environment sets
// MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or GLIBC_TUNABLES, or with a C library other than
// glibc.
void keep_freed_memory();

}  // namespace ripeline::runtime::training
