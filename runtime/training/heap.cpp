#include "runtime/training/heap.h"

#include <cstdlib>
#include <initializer_list>
#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ripeline::runtime::training {

void keep_freed_memory() {
#ifdef __GLIBC__
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(name) != nullptr) return;
  }
  constexpr int kLargest = 32 << 20;  // glibc's limit
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace ripeline::runtime::training
