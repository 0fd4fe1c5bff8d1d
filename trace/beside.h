// Beside: which tasks of a record ran while another did on their engine.
//
// An engine runs two tasks at once where they are a pair (core/facts.h). Files and pictures put one
// of them apart, so that what remains of an engine is one after the other. Pure function.
#pragma once

#include <vector>

#include "core/facts.h"
#include "trace/record.h"

namespace ripeline::trace {

// Per task: whether it started while another ran that is not itself such a one. Neither these nor
// the others of an engine overlap, unless three ran at once. Empty: the program has no pairs.
[[nodiscard]] std::vector<bool> started_beside(const core::ProgramFacts& facts,
                                               const std::vector<TaskEvent>& tasks);

}  // namespace ripeline::trace
