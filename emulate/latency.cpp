#include "emulate/latency.h"

#include <algorithm>
#include <utility>

namespace ripeline::emulate {
namespace {

constexpr auto kLongestWait = std::chrono::hours(24);

}  // namespace

using core::Status;
using core::Time;
using runtime::Delivery;
using runtime::Envelope;
using runtime::Payload;
using runtime::RankClock;

LatencyTransport::LatencyTransport(runtime::Transport& inner, RankClock& clock)
    : inner_(inner), clock_(clock), woke_(clock.now()) {}

void LatencyTransport::set_program(const core::ProgramFacts& facts,
                                   const simulate::Timing& timing) {
  facts_ = &facts;
  timing_ = &timing;
  has_begun_ = false;
  free_.assign(static_cast<std::size_t>(facts.ranks), Time{0});
  last_.assign(facts.edges.size(), Time{0});
}

void LatencyTransport::begin() {
  has_begun_ = true;
  woke_ = clock_.now();
  overshot_ = behind_ = Time{0};
}

Status LatencyTransport::send(int to, const Envelope& envelope, Payload payload) {
  return inner_.send(to, envelope, std::move(payload));
}

// Messages from one rank to another arrive here in the order in which they were sent. So the
// receiver can allot the link's time to messages exactly as the sender would.
Time LatencyTransport::due(const Envelope& envelope) {
  const runtime::signals::OfMessage* const of = runtime::message_of(envelope.signal);
  if (of == nullptr) return envelope.sent + timing_->ballot();
  const core::Message message = of->message;
  const auto edge = static_cast<std::size_t>(message.edge);
  if (edge >= facts_->edges.size()) return envelope.sent;  // the executor refuses it
  if (envelope.is<runtime::signals::Notice>()) {
    return envelope.sent + timing_->notice(message.edge);
  }
  if (!envelope.is<runtime::signals::Data>()) {
    return envelope.sent + timing_->control(message.edge);
  }
  Time due = envelope.sent + timing_->latency(message);
  if (const Time transfer = timing_->transfer(message); transfer.count() > 0) {
    const auto producer = static_cast<std::size_t>(facts_->edges[edge].producer);
    Time& free = free_[static_cast<std::size_t>(facts_->lanes[producer].rank)];
    free = std::max(free, envelope.sent) + transfer;
    due += free - envelope.sent;
  }
  if (timing_->fifo()) due = last_[edge] = std::max(due, last_[edge]);
  return due;
}

void LatencyTransport::hold(Delivery delivery) {
  delivery.at = due(delivery.envelope);
  held_.emplace(delivery.at, std::move(delivery));
}

void LatencyTransport::release(std::vector<Delivery>& deliveries) {
  const Time now = clock_.now();
  while (first_due() <= now) {
    behind_ = std::max(behind_, now - held_.begin()->first);
    deliveries.push_back(std::move(held_.begin()->second));
    held_.erase(held_.begin());
  }
}

Time LatencyTransport::first_due() const {
  return held_.empty() || !has_begun_ ? Time::max() : held_.begin()->first;
}

void LatencyTransport::woke(Time due) {
  clock_.woke(due);
  woke_ = due;
  overshot_ = std::max(overshot_, clock_.late());
}

Status LatencyTransport::poll(std::chrono::nanoseconds wait, std::vector<Delivery>& deliveries) {
  const std::size_t before = deliveries.size();
  const Time idle_since = clock_.now();
  const Time until = idle_since + std::min<Time>(wait, kLongestWait);
  for (Time inner_wait{0};;) {
    arrived_.clear();
    if (Status s = inner_.poll(inner_wait, arrived_); !s.ok()) return s;
    for (Delivery& delivery : arrived_) {
      if (runtime::message_of(delivery.envelope.signal) != nullptr ||
          delivery.envelope.is<runtime::signals::Ballot>()) {
        hold(std::move(delivery));
      } else {
        deliveries.push_back(std::move(delivery));
      }
    }
    const Time next = std::max(idle_since, std::min(until, first_due()));
    if (next <= RankClock::host()) {
      // The rank was idle until now, so its clock is set to the time at which it should have woken.
      if (next > idle_since) woke(next);
      release(deliveries);
      if (deliveries.size() > before || next >= until) return {};
      continue;
    }
    if (deliveries.size() > before) {  // a delivery outside the program ends the wait
      woke_ = clock_.now();
      return {};
    }
    inner_wait = next - RankClock::host();
  }
}

}  // namespace ripeline::emulate
