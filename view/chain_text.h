// The chain of reasons in words (view/reasons.h): what it is made of, then its stretches.
//
// A long chain stays readable. Tasks that ran one after the other on an engine are one line, waits
// of under about a thousandth of the chain are summed up in one line at the end, and of more than
// 40 lines the longest and the last stay, with what is between them summed up by cause. Pure
// function.
#pragma once

#include <string>

#include "view/reasons.h"
#include "view/timeline.h"

namespace ripeline::view {

// To the end of `box`, from the start of what the timeline has. Several lines.
[[nodiscard]] std::string chain_text(const Timeline& timeline, Reasons& reasons, int box);

}  // namespace ripeline::view
