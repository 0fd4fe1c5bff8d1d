// The schedule that PyTorch makes from a compute_only table on load: the placement of stages, the
// needs of each task, and all that PyTorch adds.
//
// A schedule of PyTorch has dependencies only within one microbatch:
//   F  needs F of the stage before
//   B, I  need F of their own stage, and B or I of the stage after
//   W  needs I of its own stage
// Between ranks the result is sent and received; between neighbouring stages of one rank it is
// passed on directly. Values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pytorch/csv/actions.h"

namespace ripeline::pytorch {

enum class Placement : std::uint8_t {
  chain,  // stage s on rank s
  loop,   // stage s on rank s mod ranks
  v,      // down the ranks and back up; the two stages at the turn share a rank
};
[[nodiscard]] std::string name_of(Placement placement);  // chain, loop, v

struct StageMap {
  int ranks = 0;
  std::vector<int> rank_of;  // per stage
  [[nodiscard]] int stages() const { return static_cast<int>(rank_of.size()); }
  [[nodiscard]] int rank(int stage) const { return rank_of[static_cast<std::size_t>(stage)]; }
};
// nullopt if `stages` is no positive multiple of `ranks` or, for a chain, differs from `ranks`.
[[nodiscard]] std::optional<StageMap> place_stages(Placement placement, int ranks, int stages);

// The needs of a computation, as listed above; a backward of the next stage is named `I`.
[[nodiscard]] std::vector<Action> needs_of(const Action& action, int stages);
// The result of the action, as needs_of() names it: the action itself, or `I` for a B.
[[nodiscard]] Action result_of(const Action& action);
// The send and the receive of the result of an action, which is a forward or a backward whose
// result another rank needs.
struct Message {
  Action send;
  Action receive;
};
[[nodiscard]] std::optional<Message> message_of(const Action& action, const StageMap& map);

// A rank that can never run its next cell, since `action` in that cell needs `need`.
struct StuckRank {
  int rank = 0;
  Action action;
  Action need;
};

// PyTorch adds, in this order:
// 1. UNSHARD and RESHARD: at each computation the rank has the weights of the stages that it
//    computes next, from this one on: three stages, or four if one OVERLAP_F_B computes the third
//    and the fourth. The computation is preceded by RESHARD of the stages that are no longer among
//    these, by stage, then by UNSHARD of new stages, the nearest first. RESHARD of the rest is at
//    the end.
// 2. REDUCE_GRAD of a stage right after its last B or W.
// 3. Messages. In rounds, each rank in turn adds its next cell if the cell's needs are met. A
//    computation is followed by its send, and the receive is appended to the other rank at that
//    moment. So there is one global order in which everything can happen. The actions added in 1
//    and 2 have turns like computations, and so influence where receives are.
// In PyTorch, several RESHARD at one place are in the order of a Python set, which is mostly by
// stage and has no meaning. Nothing else depends on their order.
struct Additions {
  bool shards = true;  // UNSHARD and RESHARD
  bool reduce = true;  // REDUCE_GRAD; false for a PyTorch that lacks it
};
struct LoadedSchedule {
  ActionTable table;             // without blanks; if stuck, only the part before that
  std::vector<StuckRank> stuck;  // by rank; empty if PyTorch loads the table
};
// Stages must be in the map, rows must be the map's ranks, and cells must be computations or blank.
[[nodiscard]] LoadedSchedule as_loaded(const ActionTable& table, const StageMap& map,
                                       int microbatches, const Additions& additions = {});

struct Move {
  ActionCell cell;
  int row = 0;   // from 1
  int from = 0;  // columns, from 1, not counting blanks
  int to = 0;
};
struct LoadableOrder {
  ActionTable table;             // computations, without blanks
  std::vector<Move> moves;       // in the order in which they were made
  std::vector<StuckRank> stuck;  // by rank, if no move helps; empty if PyTorch loads it
};
// The same computations in an order that PyTorch loads: whenever no rank can proceed, the nearest
// later cell that can run is moved ahead. The table must be as for as_loaded().
[[nodiscard]] LoadableOrder make_loadable(const ActionTable& table, const StageMap& map);

// The computations alone, without blanks.
[[nodiscard]] ActionTable computations_of(const ActionTable& table);

}  // namespace ripeline::pytorch
