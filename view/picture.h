// Panels: one or several timelines on one time axis, drawn as a picture (view/svg.h) or as a page
// (view/html.h), and the parts that these two share.
//
// Each panel's time counts from its own first start; all panels have one scale, that of the
// longest. Two tasks that run at once on an engine share the height of its row. If tasks are too
// narrow to be seen, both forms instead draw how busy each engine is, op by op, so that any number
// of tasks makes a picture. The same timelines always give the same bytes. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::view {

// The part of each run that is shown, counted from its start; nullopt stands for its start or end.
struct Range {
  std::optional<core::Time> begin = std::nullopt;
  std::optional<core::Time> end = std::nullopt;
};

// Widths of pictures, in pixels.
inline constexpr int kPictureWidth = 1200;
inline constexpr int kLeastPictureWidth = 320;  // room for the names of the rows, and some tasks
inline constexpr int kMostPictureWidth = 20'000;

struct Panel {
  std::string title;
  const Timeline* timeline = nullptr;  // borrowed
  Stuck stuck = {};                    // drawn at the end
};

// The distance of marks on an axis of `length` with at most `most` marks: 1, 2 or 5 times 10^n.
[[nodiscard]] double axis_step(double length, int most);
// The text with &, <, > and " escaped for HTML and SVG.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace ripeline::view
