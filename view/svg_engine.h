// An engine's row of an SVG: its tasks one by one, or how busy it is where they are narrower than
// can be seen.
//
// Private to the SVG.
#pragma once

#include "view/svg_plot.h"

namespace ripeline::view {

// Draws the engine of `row`, the first of its rows, from `y` on; returns the height that it takes.
double draw_engine(SvgPlot& plot, const Row& row, double y);

// How many stages a rank has at most: a mark tells their tasks apart if there are several.
[[nodiscard]] int chunks_of(const Timeline& timeline);

}  // namespace ripeline::view
