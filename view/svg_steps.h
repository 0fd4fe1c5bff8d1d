// The steps of a timeline in an SVG: a line where each begins, and its number below. Private to
// view/svg.
#pragma once

#include "view/svg_plot.h"
#include "view/timeline.h"

namespace ripeline::view {

// The lines go from `top` to `bottom`; returns where what it draws ends. Of one step it draws
// nothing, nor of a step that is not shown. A number stands only where the one
// before it leaves room.
double draw_steps(SvgPlot& plot, const Timeline& timeline, double top, double bottom);

}  // namespace ripeline::view
