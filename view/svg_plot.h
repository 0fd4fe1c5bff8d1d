// The plot of one panel as SVG: the x of a time, the width of a text, and what has been written.
//
// The parts of a panel (view/svg.cpp, view/svg_head.h, view/svg_engine.h, view/svg_stuck.h) write
// into one text, in the order in which they are drawn. Coordinates are pixels, y downwards. Private
// to the SVG; one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/palette.h"
#include "view/timeline.h"

namespace ripeline::view {

// Heights, which depend on the number of ranks to draw.
struct SvgHeights {
  double row = 22;     // an engine's row
  double shared = 32;  // the row of an engine with two tasks at once
  double curve = 18;   // a resource's curve of amounts held
  double gap = 5;      // the space below a rank
};
[[nodiscard]] SvgHeights svg_heights(int ranks);

// The x at which the time axis begins and ends, and the part of each run that it shows.
struct SvgAxis {
  double left = 0;
  double right = 0;
  core::Time from{0};
  core::Time to{0};
};

class SvgPlot {
 public:
  // The timeline must outlive the plot.
  SvgPlot(const Timeline& timeline, const SvgAxis& axis, const SvgHeights& heights);
  SvgPlot(const SvgPlot&) = delete;
  SvgPlot& operator=(const SvgPlot&) = delete;

  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] const Palette& palette() const { return palette_; }
  [[nodiscard]] const SvgHeights& heights() const { return heights_; }
  [[nodiscard]] double left() const { return axis_.left; }
  [[nodiscard]] double right() const { return axis_.right; }
  // The bounds of the part shown, in the trace's time; to() is the run's end if that is earlier.
  [[nodiscard]] core::Time from() const { return timeline_.begin() + axis_.from; }
  [[nodiscard]] core::Time to() const;
  // Whether the run ends within the part shown.
  [[nodiscard]] bool shows_end() const { return timeline_.end() <= timeline_.begin() + axis_.to; }
  // Whether any part of the interval is in the part shown.
  [[nodiscard]] bool shows(core::Time start, core::Time end) const;
  // The x of a time; a time outside of the part shown is at the edge.
  [[nodiscard]] double x_of(core::Time time) const;

  // `more` is a list of further attributes.
  void text(double x, double y, std::string_view what, std::string_view more = {});
  void rect(double x, double y, double width, double height, std::string_view more);
  [[nodiscard]] std::string& out() { return out_; }

 private:
  const Timeline& timeline_;
  Palette palette_;
  SvgAxis axis_;
  SvgHeights heights_;
  double scale_;  // pixels per nanosecond
  std::string out_;
};

// The width of text in the widest of the usual sans-serif fonts, so that it fits in any of them.
[[nodiscard]] double text_width(std::string_view text, double font_size);
// The text, or as much of its beginning as fits, followed by `…`.
[[nodiscard]] std::string fitted(std::string_view text, double font_size, double width);

// The font sizes of the pictures.
inline constexpr double kSvgFont = 12;
inline constexpr double kSvgSmallFont = 11;

}  // namespace ripeline::view
