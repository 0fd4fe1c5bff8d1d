// What judge_wire() builds: pairs of sends and receives, and the graph of events.
//
// Actions are numbered rank by rank, in the order of issue. Values; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "verify/wire.h"

namespace ripeline::verify {

// All sends from one rank to another and all receives of them: the n-th belong together.
struct WirePairing {
  struct Channel {
    WireChannel ends;
    std::vector<std::uint32_t> sends;
    std::vector<std::uint32_t> receives;
  };
  std::vector<std::uint32_t> first;    // per rank: its first action; and the number of all
  std::vector<const WireAction*> all;  // per action
  std::vector<Channel> channels;
  // Per group and member: its collectives, in order.
  std::vector<std::vector<std::vector<std::uint32_t>>> collectives;

  [[nodiscard]] WirePosition position(std::uint32_t action) const;
};

// Fills `pairing`, or says what is invalid, mismatched or unpaired.
[[nodiscard]] std::optional<WireVerdict> pair_up(const WireProgram& program, WirePairing& pairing);

class WireGraph {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };
  // Why an edge is there; known only of a graph that explains.
  struct Cause {
    WireWait::Why why;
    bool part;            // of a kernel or a collective: no reason of its own
    std::uint32_t actor;  // the action that `from` is of, or kNone
  };

  // `explain`: keep the causes. `program` and `pairing` must outlive it.
  WireGraph(const WireProgram& program, const WirePairing& pairing, const WireOptions& options,
            bool explain);

  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Edge>& edges() const { return edges_; }
  [[nodiscard]] const std::vector<Cause>& causes() const { return causes_; }
  // Per node, the starts and ends of actions that happen there.
  [[nodiscard]] std::vector<std::vector<WireEvent>> events_for_testing() const;
  // Calls `use(WireEvent)` for what happens at a node.
  template <class Use>
  void at_node(std::uint32_t node, const Use& use) const;

 private:
  struct Kernel {
    std::uint32_t start;
    std::uint32_t done;
    std::uint32_t first_action;
  };
  void add_rank(int rank);
  std::uint32_t add_group_call(int rank, std::uint32_t from, std::uint32_t to);
  void add_edge(std::uint32_t from, std::uint32_t to, WireWait::Why why, std::uint32_t actor,
                bool part = false);
  void add_messages();
  void add_collectives();
};

}  // namespace ripeline::verify
