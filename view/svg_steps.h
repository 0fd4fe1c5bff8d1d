// The steps of a timeline in an SVG: a line at the beginning of each, with its number below.
// Private to view/svg.
#pragma once

#include "view/svg_plot.h"
#include "view/timeline.h"

namespace ripeline::view {

// Draws lines from `top` to `bottom` and returns the y at which the drawing ends. Draws nothing for
// a timeline of one step, nor for a step that is not shown. A number is left out if it would
// overlap the one before.
double draw_steps(SvgPlot& plot, const Timeline& timeline, double top, double bottom);

}  // namespace ripeline::view
