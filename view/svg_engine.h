// An engine's row of an SVG: its tasks one by one, or how busy it is where they are narrower than
// can be seen.
//
// Private to the SVG.
#pragma once

#include <set>

#include "trace/record.h"
#include "view/svg_plot.h"

namespace ripeline::view {

// The items that a legend must explain.
struct Drawn {
  int numbers = 0;      // microbatch numbers
  int left_out = 0;     // those that did not fit
  bool shares = false;  // how busy an engine is
  bool shared = false;  // two tasks at once on an engine
  std::set<trace::Cause> idle = {};
};

// Draws the engine of `row`, the first of its rows, from `y` on; returns the height that it takes.
double draw_engine(SvgPlot& plot, const Row& row, double y, Drawn& drawn);

}  // namespace ripeline::view
