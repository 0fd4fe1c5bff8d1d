// Neighbours: which processes of a run have to be connected.
#pragma once

#include <vector>

#include "core/facts.h"
#include "core/layout.h"

namespace ripeline::runtime {

// Of one process, ascending: those between which and it messages of the program go, the other
// members of its rank, if they do anything together, and those next to it in the tree
// (runtime/tree.h). `self` is among the neighbours of each of them.
[[nodiscard]] std::vector<int> neighbours_of(int self, const core::Layout& layout,
                                             const core::ProgramFacts& facts);
// The other members of its rank, ascending, if tasks of the program have collectives.
[[nodiscard]] std::vector<int> other_members(int self, const core::Layout& layout,
                                             const core::ProgramFacts& facts);
// Without a program: next to it in the tree.
[[nodiscard]] std::vector<int> tree_neighbours(int self, int processes);

// The two as one, ascending.
[[nodiscard]] std::vector<int> united(std::vector<int> some, const std::vector<int>& others);

}  // namespace ripeline::runtime
