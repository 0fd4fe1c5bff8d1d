#include "core/early_messages.h"

namespace ripeline::core {
namespace {

// Of what leads here: neither number is negative.
std::uint64_t key(const IncomingMessage& incoming) {
  const auto edge = static_cast<std::uint64_t>(incoming.message.edge);
  const auto microbatch = static_cast<std::uint64_t>(incoming.message.microbatch);
  return edge << 33U | microbatch << 1U | (incoming.announced ? 1U : 0U);
}

}  // namespace

bool EarlyMessages::keep(std::int64_t step, const IncomingMessage& early) {
  OfStep& kept = steps_[step];
  if (!kept.known.insert(key(early)).second) return false;
  kept.messages.push_back(early);
  return true;
}

std::span<const IncomingMessage> EarlyMessages::of(std::int64_t step) const {
  const auto found = steps_.find(step);
  return found == steps_.end() ? std::span<const IncomingMessage>{} : found->second.messages;
}

void EarlyMessages::drop(std::int64_t step) {
  steps_.erase(steps_.begin(), steps_.upper_bound(step));
}

}  // namespace ripeline::core
