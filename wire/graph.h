// The graph of events that judge_wire() builds of pairs of sends and receives.
//
// Actions are numbered rank by rank, in the order of issue. Values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/pairs.h"
#include "wire/wire.h"

namespace ripeline::verify {

struct WireGraph {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };
  // Why an edge is there.
  struct Cause {
    WireWait::Why why;
    bool part;            // within a kernel or a collective: no reason of its own
    std::uint32_t actor;  // the action that `from` is of, or kNone
  };
  struct Node {
    std::uint32_t action = kNone;  // a kernel's start has its first; kNone: no single action's
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
