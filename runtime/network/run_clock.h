// RunClock: how far a process's monotonic clock is from that of process 0, which is the run's.
//
// Sans I/O. The processes of several hosts compare their clocks along the tree
// (runtime/process/tree.h): what they send at intervals, to show that they are alive, is stamped
// with when it was sent and with when what the other sent last would have come, had there been no
// delay. From both a child knows its parent's clock to half a round trip (Mills et al., RFC 5905,
// section 8); it keeps the best of what it has been told, which is worth less the older it is. A
// difference that may as well be none is none: so the clocks of one host agree exactly.
//
// From any thread.
#pragma once

#include <mutex>
#include <vector>

#include "core/task.h"

namespace ripeline::runtime::network {

// Two times, in nanoseconds.
struct Beat {
  core::Time sent{0};  // towards process 0 on the sender's clock, away from it on the run's
  core::Time echo{0};  // on the receiver's clock; 0: nothing has come yet
  bool operator==(const Beat&) const = default;
};

// The time on the own clock, which is so far ahead of that of process 0, when that one shows
// `shown`. A peer may say anything there: it becomes a time, of which sums of a few are times, too.
[[nodiscard]] core::Time to_own(core::Time shown, core::Time ahead);

class RunClock {
 public:
  RunClock(int self, int processes);

  // To be sent now.
  [[nodiscard]] Beat beat(int to, core::Time now) const;
  // Came at `at`, on the own clock.
  void heard(int from, const Beat& beat, core::Time at);

  // The own clock minus that of process 0.
  [[nodiscard]] core::Time ahead() const;
  // How wrong that may be at `now` if the parent in the tree is right. For tests.
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
  core::Time error_{core::Time::max()};  // when it was known last; max: it is not known
  core::Time known_{0};
};

}  // namespace ripeline::runtime::network
