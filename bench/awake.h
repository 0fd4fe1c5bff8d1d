// Awake: keeps the processor's cores from idling while it lives, so that what is measured is the
// program and not how deep a core has slept when a message comes: on a virtual machine a wake-up
// out of such a sleep takes longer than a hop.
//
// It asks the kernel for wake-ups without delay (Documentation/power/pm_qos_interface.rst), which
// takes root; line() says for a table's head whether that was granted.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

namespace ripeline::bench {

class Awake {
 public:
  Awake() : request_(open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC)) {
    const std::int32_t microseconds = 0;
    granted_ =
        request_ >= 0 && write(request_, &microseconds, sizeof microseconds) == sizeof microseconds;
  }
  ~Awake() {
    if (request_ >= 0) close(request_);
  }
  Awake(const Awake&) = delete;
  Awake& operator=(const Awake&) = delete;

  [[nodiscard]] const char* line() const {
    return granted_ ? "cores are kept from idling"
                    : "cores idle between messages (root can keep them from it): a wake-up takes "
                      "what this machine needs for one";
  }

 private:
  int request_;
  bool granted_ = false;
};

}  // namespace ripeline::bench
