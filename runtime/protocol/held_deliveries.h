// HeldDeliveries: messages that have arrived, and are held until they are due, for injected delays
// (runtime/protocol/delay.h). One thread.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "runtime/transport.h"

namespace ripeline::runtime::protocol {

// Tells when an arrived message is due, on the rank's clock.
using DueTime = std::function<core::Time(const signals::OfMessage&, core::Time sent)>;

class HeldDeliveries {
 public:
  // Holds a delivery of a message, even one that is due already, since another one may have been
  // due before it.
  void hold(const DueTime& due, Delivery delivery, core::Time now) {
    delivery.envelope.sent = std::min(delivery.envelope.sent, now);  // the sender set this time
    const core::Time at = due(*message_of(delivery.envelope.signal), delivery.envelope.sent);
    delivery.at = std::max(delivery.at, at);
    held_.emplace(at, std::move(delivery));
  }
  // Takes the next delivery that is due; nullopt if none is.
  [[nodiscard]] std::optional<Delivery> take(core::Time now) {
    if (held_.empty() || next() > now) return std::nullopt;
    return std::move(held_.extract(held_.begin()).mapped());
  }
  // The time when the next delivery is due.
  [[nodiscard]] core::Time next() const {
    return held_.empty() ? core::Time::max() : held_.begin()->first;
  }

 private:
  std::multimap<core::Time, Delivery> held_;
};

}  // namespace ripeline::runtime::protocol
