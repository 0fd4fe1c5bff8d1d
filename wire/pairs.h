// Pairs: which send belongs to which receive, and which collectives of members belong together.
//
// Actions are numbered rank by rank, in the order of issue. Values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/wire.h"

namespace ripeline::wire {

// All sends and all receives from one rank to another, where the n-th ones belong together.
struct WirePairing {
  struct Channel {
    WireChannel ends;
    std::vector<std::uint32_t> sends;
    std::vector<std::uint32_t> receives;
  };
  std::vector<std::uint32_t> first;    // per rank: its first action; then the number of actions
  std::vector<const WireAction*> all;  // per action
  std::vector<Channel> channels;
  // By group and member: the member's collectives, in order.
  std::vector<std::vector<std::vector<std::uint32_t>>> collectives;

  [[nodiscard]] WirePosition position(std::uint32_t action) const;
};

// Fills in `pairing`, or returns a verdict on what is invalid, mismatched or unpaired.
[[nodiscard]] std::optional<WireVerdict> pair_up(const WireProgram& program, WirePairing& pairing);

// A name for sentences, such as `0F0 of rank 2`.
[[nodiscard]] std::string text_of(const WireProgram& program, WirePosition where);

}  // namespace ripeline::wire
