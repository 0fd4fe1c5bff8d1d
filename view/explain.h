// Reasons in words: what a task waited for, and the chain of that, as `ripeline why` and the
// debugger say it.
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
// The chain for people, what it is made of, and what else came at the same time. Several lines.
[[nodiscard]] std::string explain(const Timeline& timeline, Reasons& reasons, int box);

}  // namespace ripeline::view
