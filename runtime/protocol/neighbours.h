// Neighbours: tells which processes of a run have to be connected.
#pragma once

#include <vector>

#include "core/facts.h"
#include "core/layout.h"

namespace ripeline::runtime::protocol {

// The neighbours of one process, ascending: the processes with which it exchanges messages of the
// program, its partners, and those next to it in the tree (runtime/protocol/tree.h). The relation
// is symmetric: `self` is a neighbour of each of its neighbours.
[[nodiscard]] std::vector<int> neighbours_of(int self, const core::Layout& layout,
                                             const core::ProgramFacts& facts);
// The processes with which `self` has common tasks, ascending: the other members of its rank, if
// tasks of the program have collectives, and the same member of the rank in the other replicas.
[[nodiscard]] std::vector<int> partners_of(int self, const core::Layout& layout,
                                           const core::ProgramFacts& facts);
// The partners with which `self` agrees on the tasks that start on the engine.
[[nodiscard]] std::vector<int> agreeing_with(int self, const core::Layout& layout,
                                             const core::ProgramFacts& facts, core::Engine engine);
// The neighbours of a process that has no program: the processes next to `self` in the tree.
[[nodiscard]] std::vector<int> tree_neighbours(int self, int processes);

// The union of two lists, ascending.
[[nodiscard]] std::vector<int> united(std::vector<int> some, const std::vector<int>& others);

}  // namespace ripeline::runtime::protocol
