// The chain of reasons (view/reasons.h) in words: its time by kind of stretch, then its stretches.
//
// A long chain stays readable. Tasks that ran one after the other on an engine share one line;
// waits of less than about a thousandth of the chain are summed up in one line at the end. If there
// are more than 40 lines, only the first, the longest and the last stay, and the lines between them
// are summed up by cause. Pure function.
#pragma once

#include <string>

#include "view/reasons.h"
#include "view/timeline.h"

namespace ripeline::view {

// The chain from the start of the timeline to the end of `box`, in several lines.
[[nodiscard]] std::string chain_text(const Timeline& timeline, Reasons& reasons, int box);

}  // namespace ripeline::view
