// Terminal: the timeline as lines of text.
//
// A line per engine, and one below it of the tasks that started beside another; time from left to
// right. A task that is wide enough shows its microbatch; where tasks are narrower than a column, a
// column is what its engine ran most in it. With colours an op is its colour (the palette's),
// without them its name's first letter. Of several steps a line has the number of each where it
// begins. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::view {

struct TerminalOptions {
  int width = 100;                                // columns
  bool colour = false;                            // 24-bit escape sequences
  std::optional<core::Time> from = std::nullopt;  // since the start
  std::optional<core::Time> to = std::nullopt;
};

// Ends with a newline.
[[nodiscard]] std::string terminal(const Timeline& timeline, const TerminalOptions& options,
                                   const Stuck& stuck = {});

}  // namespace ripeline::view
