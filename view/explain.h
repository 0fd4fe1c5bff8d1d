// Reasons in words: what a run or a task of it waited for, and the chain of that, as `ripeline why`
// and the debugger say it.
//
// The same reasons as view/reasons.h, in the trace's unit and with its names. Pure functions; a
// Reasons remembers what it has looked up.
#pragma once

#include <string>

#include "view/reasons.h"
#include "view/timeline.h"

namespace ripeline::view {

// A sentence without its end: `waited for the message of 1F0, which arrived at 3`.
[[nodiscard]] std::string text_of(const Timeline& timeline, const Reason& reason);
// Explains one task: what it waited for and what else came at the same time, then the chain to it
// (view/chain_text.h). Several lines.
[[nodiscard]] std::string explain(const Timeline& timeline, Reasons& reasons, int box);
// Explains the whole run: where the time of each engine went, by cause (trace::Cause), then the
// chain to the task that ended last.
[[nodiscard]] std::string explain_all(const Timeline& timeline, Reasons& reasons);

}  // namespace ripeline::view
