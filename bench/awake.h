// Awake: while such an object lives, the processor's cores do not idle. Otherwise measurements
// would depend on how deep a core sleeps when a message arrives; on a virtual machine a wake-up
// from such a sleep takes longer than a hop.
//
// The constructor asks the kernel for wake-ups without delay, which only root may do (see
// Documentation/power/pm_qos_interface.rst). line(), in a table's head, tells whether that worked.
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
