// The row of an engine in an SVG: its tasks one by one or, if they are too narrow to be seen, how
// busy the engine is.
//
// Private to the SVG.
#pragma once

#include <set>

#include "trace/record.h"
#include "view/svg_plot.h"

namespace ripeline::view {

// The parts that were drawn, which the legend must explain.
struct Drawn {
  int numbers = 0;      // microbatch numbers that were written
  int left_out = 0;     // microbatch numbers that did not fit
  bool shares = false;  // shares of busy time
  bool shared = false;  // two tasks at once on an engine
  std::set<trace::Cause> idle = {};
};

// Draws the engine whose first row is `row`, from `y` on; returns the height that it used.
double draw_engine(SvgPlot& plot, const Row& row, double y, Drawn& drawn);

}  // namespace ripeline::view
