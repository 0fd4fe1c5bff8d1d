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
// How long this process waits for its refusal to leave.
constexpr auto kLastWords = std::chrono::milliseconds(300);

std::string text_of(const Payload& payload) {
  return {reinterpret_cast<const char*>(payload.head.data()), payload.head.size()};
}

// The failure as other processes should report it.
Status as_told(int from, const Status& why) {
  if (why.code() == StatusCode::refused || why.code() == StatusCode::lost) return why;
  return {StatusCode::lost, rank_text(from) + " stopped: " + why.message()};
}

// Whether the word is for a carrier, which must exist first.
bool is_for_later(const process::CarrierWord& word) {
  return std::holds_alternative<process::PlacesAsked>(word) ||
         std::holds_alternative<process::PlacesGiven>(word) ||
         std::holds_alternative<process::Landed>(word) ||
         std::holds_alternative<process::Launched>(word) ||
         std::holds_alternative<process::AllLaunched>(word);
}

}  // namespace

std::string rank_text(int process) { return "rank " + std::to_string(process); }

CarrierMeeting::CarrierMeeting(Transport& control, std::chrono::nanoseconds limit,
                               std::vector<Delivery>& early, const Termination* termination)
    : control_(control),
      early_(early),
      termination_(termination),
      until_(RankClock::host() + limit) {}

Status CarrierMeeting::say(int to, const process::CarrierWord& word) {
  return control_.send(to, {.signal = signals::Carrier{}}, process::encode_word(word));
}

Status CarrierMeeting::say_to_all(const process::CarrierWord& word) {
  for (const int peer : neighbours()) {
    if (Status s = say(peer, word); !s.ok()) return s;
  }
  return {};
}

Status CarrierMeeting::next(std::chrono::nanoseconds most, std::vector<Word>& words) {
  const Time left = until_ - RankClock::host();
  if (left <= Time{0}) return {StatusCode::timeout, ""};
  std::vector<Delivery> came;
  Status status = control_.poll(std::min({most, std::chrono::nanoseconds(left), kSlice}), came);
  if (status.ok()) status = Termination::status_at_start(termination_, self());
  for (Delivery& delivery : came) {
    Status s = hear(std::move(delivery), words);
    if (status.ok()) status = std::move(s);
  }
  return status;
}

Status CarrierMeeting::hear(Delivery delivery, std::vector<Word>& words) {
  const int from = delivery.from;
  if (delivery.envelope.is<signals::Lost>()) {
    return {StatusCode::lost, rank_text(from) + " was lost (" + text_of(delivery.payload) + ")"};
  }
  process::CarrierWord word;
  const bool is_word = delivery.envelope.is<signals::Carrier>();
  if (is_word) {
    if (Status s = process::decode_word(delivery.payload, word); !s.ok()) {
      return {StatusCode::lost, rank_text(from) + " was lost (" + s.message() + ")"};
    }
  }
  if (!is_word || is_for_later(word)) {
    early_.push_back(std::move(delivery));
    return {};
  }
  if (const auto* const refusal = std::get_if<process::CarrierRefusal>(&word)) {
    return as_told(from, {static_cast<StatusCode>(refusal->code), refusal->text});
  }
  words.push_back({.from = from, .word = std::move(word)});
  return {};
}

void CarrierMeeting::refuse(const Status& why) {
  for (const int peer : neighbours()) {
    static_cast<void>(
        say(peer, process::CarrierRefusal{static_cast<std::int32_t>(why.code()), why.message()}));
  }
  control_.flush(kLastWords);
}

}  // namespace ripeline::runtime::cuda
