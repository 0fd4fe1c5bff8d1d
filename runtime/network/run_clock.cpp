#include "runtime/network/run_clock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "runtime/protocol/tree.h"

namespace ripeline::runtime::network {
namespace {

using core::Time;

// The clocks of two hosts drift by at most 50 µs in a second, which is more than quartz clocks do.
constexpr int kDrift = 20000;
// The largest time taken from a peer: 73 years, so that sums of a few of them do not overflow.
constexpr Time kLatest{std::int64_t{1} << 61};

bool is_time(Time time) { return time > -kLatest && time < kLatest; }

}  // namespace

Time to_own(Time shown, Time ahead) { return std::clamp(shown, -kLatest, kLatest) + ahead; }

RunClock::RunClock(int self, int processes)
    : self_(self), last_(static_cast<std::size_t>(processes)) {
  if (self == 0) error_ = Time{0};
}

Beat RunClock::beat(int to, Time now) const {
  const std::lock_guard lock(mutex_);
  const Last& last = last_[static_cast<std::size_t>(to)];
  return {.sent = to == protocol::parent_of(self_) ? now : now - ahead_,
          .echo = last.at == Time{0} ? Time{0} : last.sent + (now - last.at)};
}

void RunClock::heard(int from, const Beat& beat, Time at) {
  if (!is_time(beat.sent) || !is_time(beat.echo)) return;
  const std::lock_guard lock(mutex_);
  last_[static_cast<std::size_t>(from)] = {beat.sent, at};
  if (from != protocol::parent_of(self_) || beat.echo == Time{0} || beat.echo > at) return;
  const Time error = (at - beat.echo) / 2;
  if (error > error_at(at)) return;
  const Time ahead = beat.echo + error - beat.sent;
  ahead_ = std::chrono::abs(ahead) <= error ? Time{0} : ahead;
  error_ = error;
  known_ = at;
}

Time RunClock::ahead() const {
  const std::lock_guard lock(mutex_);
  return ahead_;
}

Time RunClock::error(Time now) const {
  const std::lock_guard lock(mutex_);
  return error_at(now);
}

Time RunClock::error_at(Time now) const {
  if (self_ == 0 || error_ == Time::max()) return error_;
  return error_ + (now - known_) / kDrift;
}

}  // namespace ripeline::runtime::network
