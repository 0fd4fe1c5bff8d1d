// The plot of one panel as SVG: where a time lies, how wide a text is, and what has been written.
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

// Heights, by how many ranks there are to draw.
struct SvgHeights {
  double row = 22;     // an engine's row
  double shared = 32;  // an engine's row with two tasks at once
  double curve = 18;   // a resource's curve of amounts held
  double gap = 5;      // below a rank
};
[[nodiscard]] SvgHeights svg_heights(int ranks);

// Where the time axis lies, in x, and which part of each run it shows, from the run's start.
struct SvgAxis {
  double left = 0;
  double right = 0;
  core::Time from{0};
  core::Time to{0};
};

class SvgPlot {
 public:
  // The timeline must outlive it.
  SvgPlot(const Timeline& timeline, const SvgAxis& axis, const SvgHeights& heights);
  SvgPlot(const SvgPlot&) = delete;
  SvgPlot& operator=(const SvgPlot&) = delete;

  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] const Palette& palette() const { return palette_; }
  [[nodiscard]] const SvgHeights& heights() const { return heights_; }
  [[nodiscard]] double left() const { return axis_.left; }
  [[nodiscard]] double right() const { return axis_.right; }
  // The bounds of the part shown, in the trace's clock; the end is the run's if that is earlier.
  [[nodiscard]] core::Time from() const { return timeline_.begin() + axis_.from; }
  [[nodiscard]] core::Time to() const;
  // Where the run ends; false: beyond what is shown.
  [[nodiscard]] bool shows_end() const { return timeline_.end() <= timeline_.begin() + axis_.to; }
  // Whether it has a part in what is shown.
  [[nodiscard]] bool shows(core::Time start, core::Time end) const;
  // A time outside of what is shown lies at the edge.
  [[nodiscard]] double x_of(core::Time time) const;

  // `more`: attributes.
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

// The width of text in the widest of the usual sans-serif fonts: what fits by it fits in any.
[[nodiscard]] double text_width(std::string_view text, double font_size);
// The text, or as much of its beginning as fits, with … at its end.
[[nodiscard]] std::string fitted(std::string_view text, double font_size, double width);

// The font sizes of the pictures.
inline constexpr double kSvgFont = 12;
inline constexpr double kSvgSmallFont = 11;

}  // namespace ripeline::view
