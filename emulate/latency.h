// LatencyTransport: a transport on which a message takes as long as a Timing says, on the rank's
// clock.
//
// Each delivery for an edge, even an announcement, grant or notice, is held until it is due. A wait
// ends when a delivery is due or the caller's time limit has passed, and the clock is set back to
// that time. So neither a late timer nor the transfer through `inner` counts, if the rank was idle
// meanwhile. A delivery's arrival time is its due time. Belongs to its rank's thread.
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

  // Sets the program whose messages come next, before the first of them arrives. Both arguments are
  // borrowed until the next call. Late notices of the previous program may still arrive, unused.
  void set_program(const core::ProgramFacts& facts, const simulate::Timing& timing);
  // Starts the step on this rank. Until begin() is called, the program's deliveries are held even
  // if they are long overdue: another rank may have started already, while this rank's clock has
  // yet to be set to the start. overshot() and behind() count from this call on.
  void begin();

  [[nodiscard]] int self() const override { return inner_.self(); }
  [[nodiscard]] int processes() const override { return inner_.processes(); }
  [[nodiscard]] const std::vector<int>& neighbours() const override { return inner_.neighbours(); }
  core::Status send(int to, const runtime::Envelope& envelope, runtime::Payload payload) override;
  // Returns all deliveries that are due or overdue when the wait ends.
  core::Status poll(std::chrono::nanoseconds wait,
                    std::vector<runtime::Delivery>& deliveries) override;
  void wake() override { inner_.wake(); }
  [[nodiscard]] std::size_t queued(int to) const override { return inner_.queued(to); }
  [[nodiscard]] core::Time heard(int from) const override { return inner_.heard(from); }
  [[nodiscard]] core::Time ahead() const override { return inner_.ahead(); }
  core::Status finish(std::chrono::nanoseconds limit) override { return inner_.finish(limit); }
  void flush(std::chrono::nanoseconds limit) override { inner_.flush(limit); }

  // The largest time by which a wait ended late.
  [[nodiscard]] core::Time overshot() const { return overshot_; }
  // The largest time by which a delivery was returned after it was due, on the rank's clock.
  [[nodiscard]] core::Time behind() const { return behind_; }
  // How long the rank has been busy since it last waited.
  [[nodiscard]] core::Time busy() const { return clock_.now() - woke_; }

 private:
  // The time when a delivery of the program is due here.
  [[nodiscard]] core::Time due(const runtime::Envelope& envelope);
  void hold(runtime::Delivery delivery);
  void release(std::vector<runtime::Delivery>& deliveries);
  void woke(core::Time due);
  // The earliest due time of all held deliveries; Time::max() if there are none or the step has not
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
