#include "view/svg_plot.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "view/picture.h"

namespace ripeline::view {

SvgPlot::SvgPlot(const Timeline& timeline, double left, double right, core::Time longest)
    : timeline_(timeline),
      colours_(op_colours(timeline.facts())),
      left_(left),
      right_(right),
      scale_((right - left) / std::max<double>(1, static_cast<double>(longest.count()))) {}

void SvgPlot::text(double x, double y, std::string_view what, std::string_view more) {
  fmt::format_to(std::back_inserter(out_), "<text x=\"{:.6g}\" y=\"{:.6g}\"{}{}>{}</text>\n", x, y,
                 more.empty() ? "" : " ", more, escaped(what));
}

void SvgPlot::rect(double x, double y, double width, double height, std::string_view more) {
  fmt::format_to(std::back_inserter(out_),
                 "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.4g}\" height=\"{:.4g}\" {}/>\n", x, y,
                 width, height, more);
}

}  // namespace ripeline::view
