#include "runtime/cuda/carriers/carrier_meeting.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "runtime/clock.h"
#include "runtime/termination.h"

namespace ripeline::runtime::cuda {

using core::Status;
using core::StatusCode;
using core::Time;

namespace {

// The time between two checks whether the process is told to end.
constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(100);
// How long this process waits until its refusal is sent.
constexpr auto kRefusalLimit = std::chrono::milliseconds(300);

std::string text_of(const Payload& payload) {
  return {reinterpret_cast<const char*>(payload.head.data()), payload.head.size()};
}

// The failure as other processes should report it.
Status as_reported(int from, const Status& why) {
  if (why.code() == StatusCode::refused || why.code() == StatusCode::lost) return why;
  return {StatusCode::lost, rank_text(from) + " stopped: " + why.message()};
}

// Whether the message is for a carrier, and so has to be kept until the carrier exists.
bool is_for_later(const protocol::CarrierMessage& message) {
  return std::holds_alternative<protocol::BuffersAsked>(message) ||
         std::holds_alternative<protocol::BuffersGiven>(message) ||
         std::holds_alternative<protocol::Landed>(message) ||
         std::holds_alternative<protocol::Launched>(message) ||
         std::holds_alternative<protocol::AllLaunched>(message);
}

}  // namespace

std::string rank_text(int process) { return "rank " + std::to_string(process); }

CarrierMeeting::CarrierMeeting(Transport& control, std::chrono::nanoseconds limit,
                               std::vector<Delivery>& early, const Termination* termination)
    : control_(control),
      early_(early),
      termination_(termination),
      until_(RankClock::host() + limit) {}

Status CarrierMeeting::send(int to, const protocol::CarrierMessage& message) {
  return control_.send(to, {.signal = signals::Carrier{}}, protocol::encode_message(message));
}

Status CarrierMeeting::send_to_all(const protocol::CarrierMessage& message) {
  for (const int peer : neighbours()) {
    if (Status s = send(peer, message); !s.ok()) return s;
  }
  return {};
}

Status CarrierMeeting::next(std::chrono::nanoseconds most, std::vector<Message>& messages) {
  const Time left = until_ - RankClock::host();
  if (left <= Time{0}) return {StatusCode::timeout, ""};
  std::vector<Delivery> came;
  Status status = control_.poll(std::min({most, std::chrono::nanoseconds(left), kSlice}), came);
  if (status.ok()) status = Termination::status_at_start(termination_, self());
  for (Delivery& delivery : came) {
    Status s = receive(std::move(delivery), messages);
    if (status.ok()) status = std::move(s);
  }
  return status;
}

Status CarrierMeeting::receive(Delivery delivery, std::vector<Message>& messages) {
  const int from = delivery.from;
  if (delivery.envelope.is<signals::Lost>()) {
    return {StatusCode::lost, rank_text(from) + " was lost (" + text_of(delivery.payload) + ")"};
  }
  protocol::CarrierMessage message;
  const bool is_of_carrier = delivery.envelope.is<signals::Carrier>();
  if (is_of_carrier) {
    if (Status s = protocol::decode_message(delivery.payload, message); !s.ok()) {
      return {StatusCode::lost, rank_text(from) + " was lost (" + s.message() + ")"};
    }
  }
  if (!is_of_carrier || is_for_later(message)) {
    early_.push_back(std::move(delivery));
    return {};
  }
  if (const auto* const refusal = std::get_if<protocol::CarrierRefusal>(&message)) {
    return as_reported(from, {static_cast<StatusCode>(refusal->code), refusal->text});
  }
  messages.push_back({.from = from, .content = std::move(message)});
  return {};
}

void CarrierMeeting::refuse(const Status& why) {
  for (const int peer : neighbours()) {
    static_cast<void>(
        send(peer, protocol::CarrierRefusal{static_cast<std::int32_t>(why.code()), why.message()}));
  }
  control_.flush(kRefusalLimit);
}

}  // namespace ripeline::runtime::cuda
