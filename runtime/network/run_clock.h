// RunClock: the offset of a process's monotonic clock from process 0's clock, which is the run's.
//
// Sans I/O. The processes of several hosts compare their clocks along the tree
// (runtime/protocol/tree.h). Each heartbeat carries the time when it was sent, and an echo: what
// the receiver's clock showed then, if the receiver's last heartbeat took no time. From these two
// times a child knows its parent's clock to half a round trip (Mills et al., RFC 5905, section 8).
// The child keeps the estimate with the least error, which grows with the estimate's age. An offset
// within its own error counts as 0, so that the clocks of one host agree exactly.
//
// Calls may come from any thread.
#pragma once

#include <mutex>
#include <vector>

#include "core/task.h"

namespace ripeline::runtime::network {

// The two times that a heartbeat carries, in nanoseconds.
struct Beat {
  core::Time sent{0};  // on the sender's clock if sent towards process 0, else on the run's
  core::Time echo{0};  // on the receiver's clock; 0 if nothing has arrived yet
  bool operator==(const Beat&) const = default;
};

// Converts `shown`, a time on process 0's clock, to this process's clock, which is `ahead` of it. A
// peer may send any number as `shown`, so it is clamped: sums of a few results do not overflow.
[[nodiscard]] core::Time to_own(core::Time shown, core::Time ahead);

class RunClock {
 public:
  RunClock(int self, int processes);

  // The beat to send to process `to` now.
  [[nodiscard]] Beat beat(int to, core::Time now) const;
  // Notes a beat from process `from` that arrived at `at`, on this process's clock.
  void heard(int from, const Beat& beat, core::Time at);

  // This process's clock minus that of process 0.
  [[nodiscard]] core::Time ahead() const;
  // The largest error of ahead() at `now`, if the parent's clock in the tree is right. For tests.
  [[nodiscard]] core::Time error(core::Time now) const;

 private:
  struct Last {
    core::Time sent{0};
    core::Time at{0};
  };
  [[nodiscard]] core::Time error_at(core::Time now) const;  // with the mutex held

  int self_;
  mutable std::mutex mutex_;
  // Guarded by the mutex.
  std::vector<Last> last_;  // by process
  core::Time ahead_{0};
  core::Time error_{core::Time::max()};  // the error of ahead_ at known_; max if ahead_ is unknown
  core::Time known_{0};
};

}  // namespace ripeline::runtime::network
