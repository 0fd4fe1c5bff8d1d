#include "view/svg.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "view/palette.h"
#include "view/svg_engine.h"
#include "view/svg_head.h"
#include "view/svg_plot.h"
#include "view/svg_steps.h"
#include "view/svg_stuck.h"

namespace ripeline::view {
namespace {

using core::Time;

constexpr double kIndent = 12;  // the indent of amounts held, below the rank's name
constexpr int kMostRanks = 128;
constexpr double kStuckShare = 0.5;  // the largest part of the plot for a stuck run's waits
constexpr double kStuckGap = 14;     // between a run's end and its stuck tasks

std::string held_text(const Timeline& timeline, std::string_view resource, int rank) {
  const std::string_view unit = timeline.unit_of(resource);
  return fmt::format("{} {}{}{}", resource, timeline.peak(resource, rank), unit.empty() ? "" : " ",
                     unit);
}

// The step from one rank that is drawn to the next; ranks in between are left out.
int rank_step(const Timeline& timeline) {
  return std::max(1, (timeline.facts().ranks + kMostRanks - 1) / kMostRanks);
}

std::string unit_text(const Timeline& timeline) { return "time in " + timeline.run().unit.name; }

// The x at which the plot begins, to the right of all labels.
double left_of_plot(const std::vector<Panel>& panels) {
  double widest = 0;
  for (const Panel& panel : panels) {
    const Timeline& timeline = *panel.timeline;
    widest = std::max(widest, text_width(unit_text(timeline), kSvgSmallFont));
    for (const Row& row : timeline.rows()) {
      widest = std::max(widest, text_width(name_of(row), kSvgFont));
    }
    for (const std::string_view resource : timeline.resources()) {
      for (int rank = 0; rank < timeline.facts().ranks; rank += rank_step(timeline)) {
        const std::string text = held_text(timeline, resource, rank);
        widest = std::max(widest, kIndent + text_width(text, kSvgSmallFont));
      }
    }
  }
  return kEdge + widest + 10;
}

class PanelSvg {
 public:
  PanelSvg(const Panel& panel, const SvgAxis& axis, const StuckLayout& layout, double width)
      : panel_(panel),
        timeline_(*panel.timeline),
        width_(width),
        head_(timeline_, axis, {}),
        plot_(timeline_, axis, svg_heights(timeline_.facts().ranks)),
        stuck_(plot_, panel.stuck, layout, plot_.x_of(timeline_.end()) + kStuckGap) {}

  // Draws from `y` on and returns the y at which it ends. The head is as high as its legend needs.
  double draw(double y) {
    const double height = draw_plot();
    y = draw_title(head_, panel_, width_, y);
    y = draw_legend(head_, drawn_, width_, y);
    out_ = fmt::format("{}<g transform=\"translate(0,{:.6g})\">\n{}</g>\n", head_.out(), y,
                       plot_.out());
    return y + height;
  }
  [[nodiscard]] const std::string& out() { return out_; }

 private:
  double draw_plot() {
    double y = axis(6);
    const double top = y;
    const int ranks = timeline_.facts().ranks;
    const int step = rank_step(timeline_);
    for (int rank = 0; rank < ranks; rank += step) y = draw_rank(rank, y);
    y = draw_steps(plot_, timeline_, top, y);
    if (step > 1) {
      plot_.text(kEdge, y + 10, fmt::format("every {}th of {} ranks", step, ranks),
                 "class=\"small\"");
      y += 16;
    }
    stuck_.draw_arrows();
    return stuck_.draw_waits(width_, y) + 10;
  }

  double axis(double y) {
    const double first = timeline_.in_unit(plot_.from() - timeline_.begin());
    const double last = timeline_.in_unit(plot_.to() - timeline_.begin());
    const double room = std::max(45.0, text_width(fmt::format("{:.6g}", last), kSvgSmallFont) + 20);
    const double width = plot_.x_of(plot_.to()) - plot_.left();
    const double step = axis_step(last - first, std::max(1, static_cast<int>(width / room)));
    const auto unit = static_cast<double>(timeline_.run().unit.nanoseconds);
    const auto count = step > 0 ? std::floor((last - first) / step + 1e-9) : -1;
    for (double i = std::ceil(first / step - 1e-9), end = i + count; i <= end; ++i) {
      const double t = i * step + 0.0;  // + 0.0 turns -0 into 0
      if (t > last + step * 1e-9) break;
      const double x =
          plot_.x_of(timeline_.begin() + Time{static_cast<std::int64_t>(std::llround(t * unit))});
      plot_.text(x, y + 8, fmt::format("{:.6g}", t), "class=\"small\" text-anchor=\"middle\"");
      fmt::format_to(std::back_inserter(plot_.out()),
                     "<line x1=\"{0:.6g}\" x2=\"{0:.6g}\" y1=\"{1:.6g}\" y2=\"{2:.6g}\" "
                     "class=\"tick\"/>\n",
                     x, y + 11, y + 15);
    }
    plot_.text(kEdge, y + 8, unit_text(timeline_), "class=\"small\"");
    return y + 17;
  }

  double draw_rank(int rank, double y) {
    for (const Row& row : timeline_.rows()) {
      if (row.rank != rank || row.second) continue;
      const double height = draw_engine(plot_, row, y, drawn_);
      stuck_.draw_beside(row, y);
      y += height + 2;
    }
    for (const std::string_view resource : timeline_.resources()) {
      y = draw_curve(resource, rank, y);
    }
    return y + plot_.heights().gap;
  }

  double draw_curve(std::string_view resource, int rank, double y) {
    const std::vector<Level> levels = timeline_.levels(resource, rank);
    const auto capacity = timeline_.capacity(resource, rank);
    if (levels.size() == 1 && !capacity) return y;
    const std::int64_t peak = timeline_.peak(resource, rank);
    const auto most = static_cast<double>(std::max({peak, capacity.value_or(1), std::int64_t{1}}));
    const double floor = y + plot_.heights().curve;
    const auto height = [&](std::int64_t held) {
      return floor - (plot_.heights().curve - 3) * static_cast<double>(held) / most;
    };
    std::string path = fmt::format("M{:.6g} {:.6g}", plot_.left(), floor);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i].at > plot_.to()) break;
      // Draws the last level before the part shown and, within it, the highest per half pixel.
      std::int64_t held = levels[i].held;
      const double x = plot_.x_of(levels[i].at);
      while (i + 1 < levels.size() && plot_.x_of(levels[i + 1].at) < x + 0.5) {
        ++i;
        const bool before = levels[i].at <= plot_.from();
        const bool same = levels[i].at == levels[i - 1].at && plot_.x_of(levels[i].at) == x;
        held = before || same ? levels[i].held : std::max(held, levels[i].held);
      }
      path += fmt::format("H{:.6g}V{:.6g}", x, height(held));
    }
    path += fmt::format("H{:.6g}V{:.6g}z", plot_.x_of(plot_.to()), floor);
    plot_.out() += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", hex(kHeld), path);
    if (capacity) {
      fmt::format_to(std::back_inserter(plot_.out()),
                     "<line x1=\"{0:.6g}\" x2=\"{1:.6g}\" y1=\"{2:.6g}\" y2=\"{2:.6g}\" "
                     "class=\"capacity\"/>\n",
                     plot_.left(), plot_.x_of(plot_.to()), height(*capacity));
    }
    plot_.text(kEdge + kIndent, floor - 3, held_text(timeline_, resource, rank), "class=\"small\"");
    return floor + 2;
  }

  const Panel& panel_;
  const Timeline& timeline_;
  double width_;
  SvgPlot head_;
  SvgPlot plot_;
  StuckSvg stuck_;
  Drawn drawn_;
  std::string out_;
};

constexpr const char* kStyle = R"(<style>
text{font:12px Helvetica,Arial,sans-serif;fill:#111}
.title{font-weight:600;font-size:14px}.small{font-size:11px}
.number text{font-size:11px;text-anchor:middle;fill:inherit}
.box rect{stroke:#fff;stroke-width:.6}.idle{fill:#f7f7f7}
.capacity{stroke:#111;stroke-dasharray:3 3;stroke-width:.8}.tick{stroke:#111}
.stuck{fill:#fff;stroke:#b00020;stroke-dasharray:4 2;stroke-width:1.6}.circle{fill:#b00020;font-size:11px;font-weight:600}
.wait{fill:none;stroke:#b00020;stroke-width:1.6;marker-end:url(#arrow)}
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#b00020"/></marker></defs>
)";

Time length_of(const Panel& panel) { return panel.timeline->end() - panel.timeline->begin(); }

}  // namespace

std::string svg(const std::vector<Panel>& panels, const PictureOptions& options) {
  Time longest{0};
  for (const Panel& panel : panels) longest = std::max(longest, length_of(panel));
  const double width = options.width;
  SvgAxis axis{.left = left_of_plot(panels), .right = width - 16};
  axis.from = std::clamp(options.range.begin.value_or(Time{0}), Time{0}, longest);
  axis.to = std::clamp(options.range.end.value_or(longest), axis.from, longest);
  std::vector<StuckLayout> layouts;
  double stuck_width = 0;
  for (const Panel& panel : panels) {
    const bool shown = length_of(panel) <= axis.to;
    const double room = shown ? kStuckShare * (axis.right - axis.left) : 0;
    layouts.emplace_back(*panel.timeline, panel.stuck, room);
    if (layouts.back().width() > 0) {
      stuck_width = std::max(stuck_width, kStuckGap + layouts.back().width());
    }
  }
  axis.right -= stuck_width;
  double y = 4;
  std::string body;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    PanelSvg drawn(panels[i], axis, layouts[i], width);
    y = drawn.draw(y);
    body += drawn.out();
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n",
             width, y) +
         kStyle +
         fmt::format("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#fff\"/>\n", width, y) +
         body + "</svg>\n";
}

}  // namespace ripeline::view
