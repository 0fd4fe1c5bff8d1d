#include "view/svg_steps.h"

#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ripeline::view {

double draw_steps(SvgPlot& plot, const Timeline& timeline, double top, double bottom) {
  constexpr double kLine = 14;  // height of the numbers
  const std::vector<StepSpan> steps = timeline.steps();
  if (steps.size() < 2) return bottom;
  double room_from = plot.left();
  for (const StepSpan& step : steps) {
    if (!plot.shows(step.begin, step.end)) continue;
    const double x = plot.x_of(step.begin);
    fmt::format_to(std::back_inserter(plot.out()),
                   "<line x1=\"{0:.6g}\" x2=\"{0:.6g}\" y1=\"{1:.6g}\" y2=\"{2:.6g}\" "
                   "stroke=\"#111\" stroke-width=\".8\"/>\n",
                   x, top - 4, bottom + kLine - 2);
    const std::string number = fmt::format("step {}", step.number);
    if (x < room_from || x + 3 + text_width(number, kSvgSmallFont) > plot.right()) continue;
    plot.text(x + 3, bottom + kLine - 3, number, "class=\"small\"");
    room_from = x + 6 + text_width(number, kSvgSmallFont);
  }
  return bottom + kLine;
}

}  // namespace ripeline::view
