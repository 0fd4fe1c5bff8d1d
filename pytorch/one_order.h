// Tells whether all actions of a table can run one after the other, each send together with its
// receive, and where they stop if not.
//
// A table with such an order cannot deadlock on any communicators or kernel level. Every edge of
// the graph in wire/wire.h leads forward in the order: an action waits for earlier ones of its
// rank, and a send and its receive, which wait for each other, are side by side. So no graph is
// needed. A table without such an order may be safe if communicators let a message overtake others.
//
// Takes memory in proportion to the ranks, and for a compute_only table about 8 bytes for each
// computation. Pure; never throws.
#pragma once

#include <vector>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"

namespace ripeline::pytorch {

// The ranks, ascending, that can never run their next cell; empty if all cells can run. PyTorch and
// as_loaded() stop at the same cells when they add the communication. The table must have only
// computations and blanks, one row for each rank of the map, and stages of the map.
[[nodiscard]] std::vector<StuckRank> stuck_ranks(const ActionTable& table, const StageMap& map);

// True if all actions of a table with its own sends and receives can run, if each rank runs them as
// written and a message is exchanged only when its send and its receive are next on their ranks.
[[nodiscard]] bool has_one_order(const ActionTable& table, const StageMap& map);

}  // namespace ripeline::pytorch
