// The graph of events that judge_wire() builds from paired sends and receives.
//
// Actions are numbered rank by rank, in the order of issue. Values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/pairs.h"
#include "wire/wire.h"

namespace ripeline::wire {

struct WireGraph {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };
  // The reason for an edge.
  struct Cause {
    WireWait::Why why;
    bool part;            // within a kernel or a collective, so not a reason by itself
    std::uint32_t actor;  // the action to which the node `from` belongs, or kNone
  };
  struct Node {
    std::uint32_t action = kNone;  // a kernel's start: its first action; kNone if not of one action
    bool end = false;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Cause> causes;                  // per edge, if `explain`
  std::vector<std::uint32_t> next_in_kernel;  // per action; kNone after the last
};

// If `explain`, fills in the causes.
[[nodiscard]] WireGraph wire_graph(const WireProgram& program, const WirePairing& pairing,
                                   const WireOptions& options, bool explain);

}  // namespace ripeline::wire
