// Ballots as payloads of messages, little-endian (docs/formats.md). Pure functions.
#pragma once

#include "core/agreement.h"
#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime::protocol {

// Encodes the ballot of a member of the rank, in a step with this number of microbatches.
[[nodiscard]] Payload encode_ballot(const core::ProgramFacts& facts, int rank, int microbatches,
                                    const core::Ballot& ballot);
// Refuses a payload that is not the ballot of a member of the rank. The executor decides whether
// the ballot fits the step.
core::Status decode_ballot(const core::ProgramFacts& facts, int rank, const Payload& payload,
                           int& microbatches, core::Ballot& ballot);

}  // namespace ripeline::runtime::protocol
