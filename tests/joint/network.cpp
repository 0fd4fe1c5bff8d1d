#include "tests/joint/network.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "runtime/network/peers.h"

namespace ripeline::joint {

using core::Time;
using runtime::Delivery;
using runtime::protocol::Outgoing;

namespace {

constexpr std::size_t kRemembered = 8;  // sent messages per direction

}  // namespace

std::string describe(const runtime::Envelope& envelope) {
  constexpr std::array kNames = {"data",   "announce", "grant",   "notice",  "begun", "ballot",
                                 "gather", "report",   "carrier", "connect", "lost"};
  static_assert(kNames.size() == std::variant_size_v<runtime::Signal>);
  const std::string text = kNames[envelope.signal.index()];
  const runtime::signals::OfMessage* const of = runtime::message_of(envelope.signal);
  if (of != nullptr) {
    return text + " of edge " + std::to_string(of->message.edge) + ", microbatch " +
           std::to_string(of->message.microbatch) + ", step " + std::to_string(of->step);
  }
  if (const auto* const begun = std::get_if<runtime::signals::Begun>(&envelope.signal)) {
    return text + " " + std::to_string(begun->step);
  }
  if (const auto* const ballot = std::get_if<runtime::signals::Ballot>(&envelope.signal)) {
    return text + " " + std::to_string(ballot->step);
  }
  const auto* const gather = std::get_if<runtime::signals::Gather>(&envelope.signal);
  return gather != nullptr ? text + " " + std::to_string(gather->number) : text;
}

Network::Network(Timeline& timeline, const Scenario& scenario, bool lost_overtakes, Log& log)
    : timeline_(timeline),
      scenario_(scenario),
      lost_overtakes_(lost_overtakes),
      log_(log),
      random_(scenario.seed * 2 + 3),
      wires_(static_cast<std::size_t>(scenario.processes * scenario.processes)),
      silences_(static_cast<std::size_t>(scenario.processes)) {
  for (Wire& wire : wires_) {
    wire.heartbeat_delay = scenario.messages.draw(random_);
    wire.open = false;
  }
  for (int process = 0; process < scenario.processes; ++process) {
    for (const int other : scenario.neighbours[static_cast<std::size_t>(process)]) {
      wire(process, other).open = true;
    }
  }
}

Time Network::draw_delay() {
  const Time delay = scenario_.messages.draw(random_);
  longest_ = std::max(longest_, delay);
  return delay;
}

void Network::send(int from, Outgoing message) {
  const int to = message.to;
  Wire& w = wire(from, to);
  if (!w.open) return;  // the message is dropped
  if (w.sent.size() == kRemembered) w.sent.erase(w.sent.begin());
  w.sent.push_back(message);
  for (runtime::Bytes& part : w.sent.back().payload.parts) part.owner.reset();  // they are counted
  const Time arrival = timeline_.now() + draw_delay();
  w.last_arrival = std::max(w.last_arrival, arrival);
  Delivery delivery{from, message.envelope, std::move(message.payload), arrival};
  const std::int64_t number = w.sends++;
  timeline_.at(arrival, [this, to, number, d = std::move(delivery)]() mutable {
    Wire& in = wire(d.from, to);
    if (in.cut_at >= 0 && number >= in.cut_at) return;
    in.last_sign = timeline_.now();
    receiver_.delivery(to, std::move(d));
  });
}

void Network::say_goodbye(int process) {
  for (int to = 0; to < scenario_.processes; ++to) {
    Wire& w = wire(process, to);
    if (to == process || !w.open) continue;
    const Time arrival = std::max(w.last_arrival, timeline_.now() + draw_delay());
    w.last_arrival = arrival;
    const std::int64_t number = w.sends++;
    timeline_.at(arrival, [this, process, to, number] {
      const Wire& in = wire(process, to);
      if (in.cut_at < 0 || number < in.cut_at) receiver_.goodbye(to, process);
    });
  }
}

void Network::lose(int from, int to, const std::string& how, Time delay) {
  Wire& w = wire(from, to);
  if (!w.open) return;
  w.open = false;
  w.broken = timeline_.now();
  longest_ = std::max(longest_, delay);
  Time arrival = timeline_.now() + delay;
  if (!lost_overtakes_) arrival = std::max(arrival, w.last_arrival + Time(1));
  timeline_.at(arrival, [this, from, to, how] {
    receiver_.delivery(to, runtime::network::loss_of(from, how, timeline_.now()));
  });
}

void Network::drop_some(int from, int to) {
  Wire& w = wire(from, to);
  if (w.last_arrival <= timeline_.now() || random_.one_in(2)) return;
  w.cut_at = random_.between(std::max<std::int64_t>(0, w.sends - 6), w.sends);
}

void Network::close(int process, const std::string& how) {
  for (int other = 0; other < scenario_.processes; ++other) {
    if (other == process) continue;
    lose(process, other, how, draw_delay());
    wire(other, process).open = false;
  }
}

void Network::kill(int process) {
  stop(process);
  for (int other = 0; other < scenario_.processes; ++other) {
    if (other != process) drop_some(process, other);
  }
  close(process, "connection closed");
}

// The two sides learn of the cut separately, possibly seconds apart.
void Network::cut(int process, int other) {
  for (const auto& [from, to] : {std::pair(process, other), std::pair(other, process)}) {
    drop_some(from, to);
    const Time delay =
        random_.one_in(4) ? random_.between(Time(0), Time(std::chrono::seconds(1))) : draw_delay();
    lose(from, to, "connection reset", delay);
  }
}

void Network::stop(int process) {
  silences_[static_cast<std::size_t>(process)].push_back({timeline_.now()});
}
void Network::resume(int process) {
  silences_[static_cast<std::size_t>(process)].back().to = timeline_.now();
}

bool Network::beats(int process, Time when) const {
  const auto& all = silences_[static_cast<std::size_t>(process)];
  return std::none_of(all.begin(), all.end(),
                      [when](const Silence& s) { return s.from <= when && when < s.to; });
}

Time Network::last_sign(int from, int to) const {
  const Wire& w = wire(from, to);
  const Time phase = scenario_.traits[static_cast<std::size_t>(from)].heartbeat_phase;
  const Time until = timeline_.now() - w.heartbeat_delay - phase;
  if (until < Time{0}) return w.last_sign;
  for (std::int64_t i = until / scenario_.heartbeat; i >= 0; --i) {
    const Time sent = phase + i * scenario_.heartbeat;
    const Time came = sent + w.heartbeat_delay;
    if (came <= w.last_sign) break;
    if (came < w.broken && beats(from, sent)) return came;
  }
  return w.last_sign;
}

}  // namespace ripeline::joint
