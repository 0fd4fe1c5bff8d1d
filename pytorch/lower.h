// What PyTorch makes of a compute_only table when it loads it: the placement of stages, what a task
// needs, and the derived communication.
//
// Data dependencies of one microbatch, all that a schedule of PyTorch has:
//   F  needs F of the stage before
//   B, I  need F of their own stage, and B or I of the stage after
//   W  needs I of its own stage
// Between ranks the result is sent and received; between neighbouring stages of one rank it is
// handed over. Values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pytorch/csv/actions.h"

namespace ripeline::spec {

enum class Placement : std::uint8_t {
  chain,  // stage s on rank s
  loop,   // stage s on rank s mod ranks
  v,      // down the ranks and back up, the stage at the turn on the same rank
};
[[nodiscard]] std::string name_of(Placement placement);  // chain, loop, v

struct StageMap {
  int ranks = 0;
  std::vector<int> rank_of;  // per stage
  [[nodiscard]] int stages() const { return static_cast<int>(rank_of.size()); }
  [[nodiscard]] int rank(int stage) const { return rank_of[static_cast<std::size_t>(stage)]; }
};
// Nothing if `stages` is no positive multiple of `ranks`, or of a chain not equal to it.
[[nodiscard]] std::optional<StageMap> place_stages(Placement placement, int ranks, int stages);

// What a computation needs, as above; backwards of the stage after are named as `I`.
[[nodiscard]] std::vector<Action> needs_of(const Action& action, int stages);
// What ends with it, in the words of needs_of(): itself, and `I` for a B.
[[nodiscard]] Action result_of(const Action& action);
// The send of the result and its receive, of a forward or a backward whose result another rank
// needs.
struct Message {
  Action send;
  Action receive;
};
[[nodiscard]] std::optional<Message> message_of(const Action& action, const StageMap& map);

// A rank that can never do its cell `position` (from 0): `action` of it needs `need`.
struct StuckRank {
  int rank = 0;
  int position = 0;
  Action action;
  Action need;
};
struct Move {
  ActionCell cell;
  int row = 0;   // from 1
  int from = 0;  // columns, from 1, blanks left out
  int to = 0;
};
struct LoweredSchedule {
  ActionTable table;             // without blanks; what was reached before it stuck
  std::vector<StuckRank> stuck;  // by rank; empty: all of it
  std::vector<Move> moves;       // of Stall::move
};

enum class Stall : std::uint8_t {
  stop,  // keep every rank's order
  move,  // when no rank can go on, take the nearest later cell that can
};
// Adds each send right after its computation and each receive to its rank at that moment: one
// global order in which all of it can happen. Other cells than computations pass as they are. Every
// stage must be in the map, rows are its ranks; cells hold no message.
[[nodiscard]] LoweredSchedule add_messages(const ActionTable& table, const StageMap& map,
                                           Stall stall);

// REDUCE_GRAD of each stage right after its last B or W of `microbatches`.
[[nodiscard]] ActionTable add_reduce_grad(const ActionTable& table, int microbatches);
// UNSHARD before the computations of a stage and RESHARD after, at most three stages at a time.
[[nodiscard]] ActionTable add_unshard_reshard(const ActionTable& table);
// The computations alone, without blanks.
[[nodiscard]] ActionTable computations_of(const ActionTable& table);

}  // namespace ripeline::spec
