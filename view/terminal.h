// Terminal: the timeline as lines of text.
//
// A line per engine, and one below it of the tasks that started beside another; time from left to
// right. A task that is wide enough shows its microbatch; where tasks are narrower than a column, a
// column is what its engine ran most in it. With colours an op is its colour (the palette's, in the
// shade of the task's chunk), without them its name's first letter. Of several steps a line has the
// number of each where it begins. Pure functions.
#pragma once

#include <string>

#include "view/picture.h"
#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::view {

struct TerminalOptions {
  int width = 100;      // columns
  bool colour = false;  // 24-bit escape sequences
  Range range = {};
};

// Ends with a newline.
[[nodiscard]] std::string terminal(const Timeline& timeline, const TerminalOptions& options,
                                   const Stuck& stuck = {});

}  // namespace ripeline::view
