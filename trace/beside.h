// Beside: tells which tasks of a record ran while another task ran on their engine.
//
// An engine runs two tasks at once if they are a pair (core/facts.h). Files and pictures set one of
// the two apart, so that the other tasks of the engine do not overlap. Pure function.
#pragma once

#include <vector>

#include "core/facts.h"
#include "trace/record.h"

namespace ripeline::trace {

// Per task: true if it started while a task ran for which this is false. Neither the true nor the
// false ones of an engine overlap, unless three ran at once. Empty: the program has no pairs.
[[nodiscard]] std::vector<bool> started_beside(const core::ProgramFacts& facts,
                                               const std::vector<TaskEvent>& tasks);

}  // namespace ripeline::trace
