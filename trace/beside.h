// Beside: tells which tasks of a record ran while another task ran on their engine.
//
// An engine runs two tasks at once if they are a pair (core/facts.h). Files and pictures show one
// of a pair apart from the engine's other tasks, so that those do not overlap. Pure function.
#pragma once

#include <vector>

#include "core/facts.h"
#include "trace/record.h"

namespace ripeline::trace {

// For each task, true if it started while a task with the value false ran. Tasks of one engine with
// equal values do not overlap, unless three ran at once. Empty if the program has no pairs.
[[nodiscard]] std::vector<bool> started_beside(const core::ProgramFacts& facts,
                                               const std::vector<TaskEvent>& tasks);

}  // namespace ripeline::trace
