// What judge_wire() builds of pairs of sends and receives: the graph of events.
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
