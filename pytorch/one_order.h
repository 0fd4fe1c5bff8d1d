// Whether all that a table does can be done one after the other, each send together with its
// receive; and where it stops if not.
//
// Then it deadlocks on no communicators and on no kernel level. Every edge of the graph in
// wire/wire.h goes forward in such an order: an action waits for earlier ones of its own rank, and
// a send and its receive, which wait for each other, stand side by side. So a table with one order
// needs no graph. One without may be safe all the same, where communicators let a message overtake.
//
// Takes memory in proportion to the ranks, and of a compute_only table 8 bytes or so for each
// computation. Pure; never throws.
#pragma once

#include <vector>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"

namespace ripeline::verify {

// The ranks that can never do their next cell, of a table of computations alone, by rank; empty:
// there is one order. With the communication that PyTorch derives it is the one in which PyTorch
// adds it, as spec::as_loaded() does. Rows are ranks and stages are in the map.
[[nodiscard]] std::vector<spec::StuckRank> stuck_ranks(const spec::ActionTable& table,
                                                       const spec::StageMap& map);

// Whether a table with its own sends and receives has one order: a rank does its actions as they
// are written, and the next message of both its ranks is the same one.
[[nodiscard]] bool has_one_order(const spec::ActionTable& table, const spec::StageMap& map);

}  // namespace ripeline::verify
