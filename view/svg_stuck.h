// Where a run sticks, in an SVG: dashed, at the end of their rows, the tasks that did not start; an
// arrow from each task of the circle to what it waits for; and the waits in words.
//
// Private to the SVG.
#pragma once

#include <cstddef>
#include <map>

#include "view/stuck.h"
#include "view/svg_plot.h"

namespace ripeline::view {

class StuckSvg {
 public:
  // Both must outlive it.
  StuckSvg(SvgPlot& plot, const Stuck& stuck) : plot_(plot), stuck_(stuck) {}

  // Beside the engine of `row`, which is drawn from `y` on.
  void draw_beside(const Row& row, double y);
  // Between the tasks that are drawn already.
  void draw_arrows();
  // From `y` on; returns where it ends.
  double draw_waits(double y);

 private:
  struct Place {
    double x = 0;
    double y = 0;
    double half = 0;  // of its width
  };

  SvgPlot& plot_;
  const Stuck& stuck_;
  std::map<std::size_t, Place> places_;  // of the waits that are drawn
};

}  // namespace ripeline::view
