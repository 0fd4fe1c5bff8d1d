// Terminal: the timeline as lines of text.
//
// Each engine has a line, and a second one for tasks that started beside another; time goes from
// left to right. A task that is wide enough shows its microbatch. If tasks are narrower than a
// column, a column shows the op that ran longest in it. With colours, a task has its op's colour
// (in the shade of its chunk); without colours, the first letter of its op's name. If there are
// several steps, a line shows each one's number where it begins. Pure functions.
#pragma once

#include <string>

#include "view/picture.h"
#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::view {

inline constexpr int kLeastColumns = 20;
inline constexpr int kMostColumns = 10'000;

struct TerminalOptions {
  int width = 100;      // columns
  bool colour = false;  // 24-bit escape sequences
  Range range = {};
};

// The returned text ends with a newline.
[[nodiscard]] std::string terminal(const Timeline& timeline, const TerminalOptions& options,
                                   const Stuck& stuck = {});

}  // namespace ripeline::view
