// Reasons in words: what a run, or one of its tasks, waited for, and the chain of these waits, as
// `ripeline why` and the debugger print them.
//
// The reasons are those of view/reasons.h, in the trace's unit and with its names. Pure functions,
// except that a Reasons remembers what it has computed.
#pragma once

#include <string>

#include "view/reasons.h"
#include "view/timeline.h"

namespace ripeline::view {

// A sentence without its full stop: `waited for the message of 1F0, which arrived at 3`.
[[nodiscard]] std::string text_of(const Timeline& timeline, const Reason& reason);
// Explains one task in several lines: its reason (what it waited for), the time at which its other
// conditions were already met, and the chain that led to the task (view/chain_text.h).
[[nodiscard]] std::string explain(const Timeline& timeline, Reasons& reasons, int box);
// Explains the whole run: each engine's time in tasks and its idle time by cause (trace::Cause);
// then the chain that led to the task that ended last.
[[nodiscard]] std::string explain_all(const Timeline& timeline, Reasons& reasons);

}  // namespace ripeline::view
