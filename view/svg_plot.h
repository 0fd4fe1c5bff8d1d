// The plot of one panel as SVG: where a time lies, and what has been written.
//
// The parts of a panel (view/svg.cpp, view/svg_engine.h, view/svg_stuck.h) write into one text, in
// the order in which they are drawn. Coordinates are pixels, y downwards. Private to the SVG; one
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/palette.h"
#include "view/timeline.h"

namespace ripeline::view {

class SvgPlot {
 public:
  // From `left` to `right` lies a run of length `longest`. The timeline must outlive it.
  SvgPlot(const Timeline& timeline, double left, double right, core::Time longest);
  SvgPlot(const SvgPlot&) = delete;
  SvgPlot& operator=(const SvgPlot&) = delete;

  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] double left() const { return left_; }
  [[nodiscard]] double right() const { return right_; }
  // Pixels per nanosecond.
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] double x_of(core::Time time) const {
    return left_ + scale_ * static_cast<double>((time - timeline_.begin()).count());
  }
  [[nodiscard]] Colour colour_of(std::size_t op) const { return colours_[op]; }

  // `more`: attributes.
  void text(double x, double y, std::string_view what, std::string_view more = {});
  void rect(double x, double y, double width, double height, std::string_view more);
  [[nodiscard]] std::string& out() { return out_; }

 private:
  const Timeline& timeline_;
  std::vector<Colour> colours_;
  double left_;
  double right_;
  double scale_;
  std::string out_;
};

// The height of an engine's row; of one that runs two tasks at once it is more.
inline constexpr double kSvgRowHeight = 22;

}  // namespace ripeline::view
