// Settings of the heap of a process that trains.
#pragma once

namespace ripeline::runtime::training {

// After this call, freed buffers of up to 32 MiB stay with the process. Otherwise glibc would
// return them to the system, and map them anew, page by page, when the next task needs as much. The
// process then keeps the most memory that it has ever had at once. Changes nothing if the
// environment sets MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or GLIBC_TUNABLES, or with a C
// library other than glibc.
void keep_freed_memory();

}  // namespace ripeline::runtime::training
