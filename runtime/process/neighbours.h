// Neighbours: which processes of a run have to be connected.
#pragma once

#include <vector>

#include "core/facts.h"
#include "core/layout.h"

namespace ripeline::runtime::process {

// The neighbours of one process, ascending: the processes with which it exchanges messages of the
// program, its partners, and those next to it in the tree (runtime/process/tree.h). `self` is among
// the neighbours of each of them.
[[nodiscard]] std::vector<int> neighbours_of(int self, const core::Layout& layout,
                                             const core::ProgramFacts& facts);
// The processes with which it has tasks together, ascending: the other members of its rank, if
// tasks of the program have collectives, and the same member of the rank in the other replicas.
[[nodiscard]] std::vector<int> partners_of(int self, const core::Layout& layout,
                                           const core::ProgramFacts& facts);
// The partners that agree with it on what starts on the engine.
[[nodiscard]] std::vector<int> agreeing_with(int self, const core::Layout& layout,
                                             const core::ProgramFacts& facts, core::Engine engine);
// Without a program: next to it in the tree.
[[nodiscard]] std::vector<int> tree_neighbours(int self, int processes);

// The two as one, ascending.
[[nodiscard]] std::vector<int> united(std::vector<int> some, const std::vector<int>& others);

}  // namespace ripeline::runtime::process
