// What judge_wire() builds: pairs of sends and receives, and the graph of events.
//
// Actions are numbered rank by rank, in the order of issue. Values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/wire.h"

namespace ripeline::verify {

// All sends from one rank to another and all receives of them: the n-th belong together.
struct WirePairing {
  struct Channel {
    WireChannel ends;
    std::vector<std::uint32_t> sends;
    std::vector<std::uint32_t> receives;
  };
  std::vector<std::uint32_t> first;    // per rank: its first action; then the number of all
  std::vector<const WireAction*> all;  // per action
  std::vector<Channel> channels;
  // Per group and member: its collectives, in order.
  std::vector<std::vector<std::vector<std::uint32_t>>> collectives;

  [[nodiscard]] WirePosition position(std::uint32_t action) const;
};

// Fills `pairing`, or says what is invalid, mismatched or unpaired.
[[nodiscard]] std::optional<WireVerdict> pair_up(const WireProgram& program, WirePairing& pairing);

// `0F0 of rank 2`, for sentences.
[[nodiscard]] std::string text_of(const WireProgram& program, WirePosition where);

struct WireGraph {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };
  // Why an edge is there.
  struct Cause {
    WireWait::Why why;
    bool part;            // of a kernel or a collective: no reason of its own
    std::uint32_t actor;  // the action that `from` is of, or kNone
  };
  struct Node {
    std::uint32_t action = kNone;  // of a kernel's start: its first; kNone: of no single action
    bool end = false;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Cause> causes;                  // per edge, if asked for
  std::vector<std::uint32_t> next_in_kernel;  // per action; kNone: the last
};

// `explain`: with causes.
[[nodiscard]] WireGraph wire_graph(const WireProgram& program, const WirePairing& pairing,
                                   const WireOptions& options, bool explain);

}  // namespace ripeline::verify
