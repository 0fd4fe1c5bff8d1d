// Ballots as payloads of messages, little-endian (docs/formats.md). Pure functions.
#pragma once

#include "core/agreement.h"
#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime::process {

// Encodes the ballot of a member of the rank, in a step of so many microbatches.
[[nodiscard]] Payload encode_ballot(const core::ProgramFacts& facts, int rank, int microbatches,
                                    const core::Ballot& ballot);
// Refuses what is no ballot of a member of the rank; whether it fits the step is for the executor
// to say.
core::Status decode_ballot(const core::ProgramFacts& facts, int rank, const Payload& payload,
                           int& microbatches, core::Ballot& ballot);

}  // namespace ripeline::runtime::process
