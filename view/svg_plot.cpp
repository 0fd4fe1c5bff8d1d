#include "view/svg_plot.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "view/picture.h"

namespace ripeline::view {
namespace {

constexpr int kTallRanks = 24;  // with more ranks, all rows are lower

// The width of a character of DejaVu Sans, as a multiple of the font size, rounded up.
double width_of(char c) {
  constexpr std::string_view kNarrow = " .,:;'|!ijlI";
  constexpr std::string_view kSlim = "ftr()[]/-";
  constexpr std::string_view kWide = "mwMW%@+=<>";
  const auto is_in = [c](std::string_view set) { return set.find(c) != set.npos; };
  if ((static_cast<unsigned char>(c) & 0xC0U) == 0x80U) return 0;  // more of a UTF-8 character
  if (is_in(kNarrow)) return 0.35;
  if (is_in(kSlim)) return 0.42;
  if (is_in(kWide)) return 0.98;
  return c >= 'A' && c <= 'Z' ? 0.75 : 0.64;
}

}  // namespace

SvgHeights svg_heights(int ranks) {
  if (ranks <= kTallRanks) return {};
  return {.row = 14, .shared = 20, .curve = 11, .gap = 3};
}

SvgPlot::SvgPlot(const Timeline& timeline, const SvgAxis& axis, const SvgHeights& heights)
    : timeline_(timeline),
      palette_(timeline.facts()),
      axis_(axis),
      heights_(heights),
      scale_((axis.right - axis.left) /
             std::max<double>(1, static_cast<double>((axis.to - axis.from).count()))) {}

core::Time SvgPlot::to() const {
  return std::max(from(), std::min(timeline_.end(), timeline_.begin() + axis_.to));
}

bool SvgPlot::shows(core::Time start, core::Time end) const {
  return start == end ? from() <= start && start <= to() : end > from() && start < to();
}

double SvgPlot::x_of(core::Time time) const {
  const core::Time inside = std::clamp(time - timeline_.begin(), axis_.from, axis_.to);
  return axis_.left + scale_ * static_cast<double>((inside - axis_.from).count());
}

void SvgPlot::text(double x, double y, std::string_view what, std::string_view more) {
  fmt::format_to(std::back_inserter(out_), "<text x=\"{:.6g}\" y=\"{:.6g}\"{}{}>{}</text>\n", x, y,
                 more.empty() ? "" : " ", more, escaped(what));
}

void SvgPlot::rect(double x, double y, double width, double height, std::string_view more) {
  fmt::format_to(std::back_inserter(out_),
                 "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.4g}\" height=\"{:.4g}\" {}/>\n", x, y,
                 width, height, more);
}

double text_width(std::string_view text, double font_size) {
  double width = 0;
  for (const char c : text) width += width_of(c);
  return width * font_size;
}

std::string fitted(std::string_view text, double font_size, double width) {
  if (text_width(text, font_size) <= width) return std::string(text);
  constexpr std::string_view kMore = "…";
  double room = width - text_width(kMore, font_size);
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    room -= width_of(text[end]) * font_size;
    if (room < 0) break;
  }
  // The text is never cut within a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + std::string(kMore);
}

}  // namespace ripeline::view
