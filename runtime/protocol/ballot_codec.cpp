#include "runtime/protocol/ballot_codec.h"

#include <string>
#include <vector>

#include "runtime/blob_io.h"

namespace ripeline::runtime::protocol {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::int32_t kMostMicrobatches = 1 << 20;  // the most in a step with ballots

}  // namespace

Payload encode_ballot(const core::ProgramFacts& facts, int rank, int microbatches,
                      const core::Ballot& ballot) {
  BlobWriter to;
  to.number(static_cast<std::uint8_t>(ballot.engine));
  to.number(ballot.round);
  to.number(ballot.attempt);
  to.number(static_cast<std::int32_t>(microbatches));
  const core::LaneSpan own = facts.lanes_of(rank);
  for (core::LaneId lane = own.first; lane < own.end; ++lane) {
    const core::MicrobatchSet& row = ballot.tasks.row(lane);
    if (row.empty()) continue;
    to.number(lane);
    for (const std::uint64_t word : row.words()) to.number(word);
  }
  return payload_of(to.take());
}

Status decode_ballot(const core::ProgramFacts& facts, int rank, const Payload& payload,
                     int& microbatches, core::Ballot& ballot) {
  const Blob bytes = blob_of(payload);
  BlobReader from(bytes);
  const auto invalid = [&](const std::string& why) {
    return Status(StatusCode::invalid,
                  "a ballot of " + std::to_string(bytes.size()) + " bytes, " + why);
  };
  const auto engine = from.number<std::uint8_t>();
  ballot.round = from.number<std::int32_t>();
  ballot.attempt = from.number<std::int32_t>();
  microbatches = from.number<std::int32_t>();
  if (!from.ok() || engine >= core::kEngines) return invalid("of no engine");
  if (microbatches < 1 || microbatches > kMostMicrobatches || !facts.admits(microbatches)) {
    return invalid("of a step of " + std::to_string(microbatches) + " microbatches");
  }
  ballot.engine = static_cast<core::Engine>(engine);
  const core::LaneSpan own = facts.lanes_of(rank);
  ballot.tasks.reset(own.first, own.end - own.first, microbatches);
  std::vector<std::uint64_t> words((static_cast<std::size_t>(microbatches) + 63) / 64);
  core::LaneId next = own.first;
  while (from.ok() && !from.is_done()) {
    const auto lane = from.number<core::LaneId>();
    for (std::uint64_t& word : words) word = from.number<std::uint64_t>();
    if (!from.ok() || lane < next || lane >= own.end) break;
    ballot.tasks.row(lane).assign(words);
    next = lane + 1;
  }
  return from.is_done() ? Status() : invalid("whose tasks are cut off or are not of the rank");
}

}  // namespace ripeline::runtime::protocol
