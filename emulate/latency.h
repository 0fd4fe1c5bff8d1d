// LatencyTransport: a transport whose messages take as long as a Timing says, as the rank's clock
// counts it.
//
// Whatever comes of an edge is held until it is due: announcements, grants and notices too. A wait
// ends when something is due or when the caller's time is up, and the clock is put back to that:
// neither the timer's lateness nor the way through `inner` counts, as long as the rank has not gone
// on. What is due counts from when it was. Belongs to its rank's thread.
#pragma once

#include <map>
#include <vector>

#include "core/facts.h"
#include "runtime/clock.h"
#include "runtime/transport.h"
#include "simulate/timing.h"

namespace ripeline::emulate {

class LatencyTransport final : public runtime::Transport {
 public:
  // Both are borrowed.
  LatencyTransport(runtime::Transport& inner, runtime::RankClock& clock);

  // Whose messages come from now on; before any of them does. Both are borrowed until the next one.
  // Of the program before nothing comes but late notices, which are of no use any more.
  void set_program(const core::ProgramFacts& facts, const simulate::Timing& timing);
  // The step starts on this rank. Until then what comes of the program is held, however long it has
  // been due: another rank may have started already, while this clock is still to be set to the
  // start. What was measured so far does not count.
  void begin();

  [[nodiscard]] int self() const override { return inner_.self(); }
  [[nodiscard]] int processes() const override { return inner_.processes(); }
  [[nodiscard]] const std::vector<int>& neighbours() const override { return inner_.neighbours(); }
  core::Status send(int to, const runtime::Envelope& envelope, runtime::Payload payload) override;
  // All that is due at one time, or has been for longer.
  core::Status poll(std::chrono::nanoseconds wait,
                    std::vector<runtime::Delivery>& deliveries) override;
  void wake() override { inner_.wake(); }
  [[nodiscard]] std::size_t queued(int to) const override { return inner_.queued(to); }
  [[nodiscard]] core::Time heard(int from) const override { return inner_.heard(from); }
  [[nodiscard]] core::Time ahead() const override { return inner_.ahead(); }
  core::Status finish(std::chrono::nanoseconds limit) override { return inner_.finish(limit); }
  void flush(std::chrono::nanoseconds limit) override { inner_.flush(limit); }

  // The most by which a wait overshot.
  [[nodiscard]] core::Time overshot() const { return overshot_; }
  // The most by which something was given later than it was due, as the clock counts.
  [[nodiscard]] core::Time behind() const { return behind_; }
  // How long the rank has been busy since it last waited.
  [[nodiscard]] core::Time busy() const { return clock_.now() - woke_; }

 private:
  // When what is of the program is due here.
  [[nodiscard]] core::Time due(const runtime::Envelope& envelope);
  void hold(runtime::Delivery delivery);
  void release(std::vector<runtime::Delivery>& deliveries);
  void woke(core::Time due);
  // The earliest due time of all that is held; Time::max() if nothing is, or before the step has
  // begun.
  [[nodiscard]] core::Time first_due() const;

  runtime::Transport& inner_;
  runtime::RankClock& clock_;
  const core::ProgramFacts* facts_ = nullptr;
  const simulate::Timing* timing_ = nullptr;
  std::multimap<core::Time, runtime::Delivery> held_;  // by the time at which it is due
  std::vector<core::Time> free_;                       // per rank: when the link from it is free
  std::vector<core::Time> last_;                       // per edge: the last arrival, if fifo
  std::vector<runtime::Delivery> arrived_;
  bool has_begun_ = false;
  core::Time woke_{0};  // when the last wait ended
  core::Time overshot_{0};
  core::Time behind_{0};
};

}  // namespace ripeline::emulate
