// Panels: one or several timelines on one time axis, drawn as a picture (view/svg.h) or as a page
// (view/html.h); and what both drawings share.
//
// Each panel's time counts from its own first start, all to one scale, which is the longest's. Two
// tasks that run at once on an engine share the height of its row. Where tasks are narrower than
// can be seen, both forms draw how busy each engine is, op by op, instead: any number of tasks
// makes a picture. The same timelines give the same bytes. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "view/stuck.h"
#include "view/timeline.h"

namespace ripeline::view {

// The part of each run that is shown, from its start; nothing: from the start, to the end.
struct Range {
  std::optional<core::Time> begin = std::nullopt;
  std::optional<core::Time> end = std::nullopt;
};

inline constexpr int kPictureWidth = 1200;  // in pixels

struct Panel {
  std::string title;
  const Timeline* timeline = nullptr;  // borrowed
  Stuck stuck = {};                    // drawn at the end
};

// Between marks of an axis of `length`, at most `most` of them: 1, 2 or 5 times a power of ten.
[[nodiscard]] double axis_step(double length, int most);
// With &, <, > and " as HTML and SVG write them.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace ripeline::view
