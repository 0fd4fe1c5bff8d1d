// The head of a panel, above its plot: the title, the facts of the run (view/run_facts.h), and the
// legend, which names what is drawn and nothing else.
//
// Private to the SVG.
#pragma once

#include "view/picture.h"
#include "view/svg_engine.h"
#include "view/svg_plot.h"

namespace ripeline::view {

// The margins to the left and right of the text.
inline constexpr double kEdge = 8;

// Both write from `y` on, in lines as wide as the picture, and return the y at which they end.
double draw_title(SvgPlot& plot, const Panel& panel, double width, double y);
double draw_legend(SvgPlot& plot, const Drawn& drawn, double width, double y);

}  // namespace ripeline::view
