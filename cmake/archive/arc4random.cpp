// arc4random() for the archive's libstdc++, whose std::random_device asks libc for it where libc
// has it: from glibc 2.36 on. With this one the library also loads on glibc 2.35. Like libc's, it
// cannot fail: without randomness the process ends.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t drawn = 0;
  // A request of up to 256 bytes is answered whole; only a signal before the kernel's pool is ready
  // interrupts it.
  while (getrandom(&drawn, sizeof drawn, 0) != static_cast<ssize_t>(sizeof drawn)) {
    if (errno != EINTR) std::abort();
  }
  return drawn;
}
