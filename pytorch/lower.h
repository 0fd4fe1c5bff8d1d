// The schedule that PyTorch makes of a compute_only table when it loads it: the placement of
// stages, the needs of each task, and all that PyTorch adds.
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

// The needs of a computation, as above; backwards of the stage after are named `I`.
[[nodiscard]] std::vector<Action> needs_of(const Action& action, int stages);
// The action that ends with this one, as needs_of() names it: itself, or `I` for a B.
[[nodiscard]] Action result_of(const Action& action);
// The send of the result and its receive, of a forward or a backward whose result another rank
// needs.
struct Message {
  Action send;
  Action receive;
};
[[nodiscard]] std::optional<Message> message_of(const Action& action, const StageMap& map);

// A rank that can never do its next cell: `action` of it needs `need`.
struct StuckRank {
  int rank = 0;
  Action action;
  Action need;
};

// PyTorch adds, in this order:
// 1. UNSHARD and RESHARD: at each computation the rank has the weights of the stages that it
//    computes next, from this one on. These are three, or four if one OVERLAP_F_B computes the
//    third and the fourth. Before the computation stands RESHARD of the stages that are no longer
//    among them, by stage, then UNSHARD of those that are new, the nearest first. RESHARD of the
//    rest is at the end.
// 2. REDUCE_GRAD of a stage right after its last B or W.
// 3. Messages. In rounds, each rank in turn takes its next cell if it has what that needs; after a
//    computation stands its send, and the receive is appended to the other rank at that moment. So
//    there is one global order in which all of it can happen. What was added in 1 and 2 takes turns
//    like computations, and so decides where receives stand.
// Several RESHARD at one place are in the order of a Python set in PyTorch, which is by stage most
// of the time and has no meaning. Nothing else depends on which of them is first.
struct Additions {
  bool shards = true;  // UNSHARD and RESHARD
  bool reduce = true;  // REDUCE_GRAD; false: PyTorch from before it
};
struct LoadedSchedule {
  ActionTable table;             // without blanks; if it is stuck, what was reached before
  std::vector<StuckRank> stuck;  // by rank; empty: none is, and PyTorch loads the table
};
// Every stage must be in the map, rows are its ranks, cells are computations or blank.
[[nodiscard]] LoadedSchedule as_loaded(const ActionTable& table, const StageMap& map,
                                       int microbatches, const Additions& additions = {});

struct Move {
  ActionCell cell;
  int row = 0;   // from 1
  int from = 0;  // columns, from 1, blanks left out
  int to = 0;
};
struct LoadableOrder {
  ActionTable table;             // computations, without blanks
  std::vector<Move> moves;       // as made, in order
  std::vector<StuckRank> stuck;  // by rank, of what no move helps; empty: PyTorch loads the table
};
// The same computations in an order that PyTorch loads: where no rank can go on, the nearest later
// cell that can is taken. The table is as in as_loaded().
[[nodiscard]] LoadableOrder make_loadable(const ActionTable& table, const StageMap& map);

// The computations alone, without blanks.
[[nodiscard]] ActionTable computations_of(const ActionTable& table);

}  // namespace ripeline::spec
