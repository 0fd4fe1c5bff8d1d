#include "view/svg.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "view/palette.h"
#include "view/svg_engine.h"
#include "view/svg_plot.h"
#include "view/svg_steps.h"
#include "view/svg_stuck.h"

namespace ripeline::view {
namespace {

using core::Time;

constexpr double kLeft = 120;  // of the plot
constexpr double kCurveHeight = 18;
constexpr double kGap = 5;  // below a rank
constexpr int kMostRanks = 128;
constexpr double kStuckWidth = 110;

class PanelSvg {
 public:
  PanelSvg(const Panel& panel, double left, double right, Time longest)
      : title_(panel.title),
        timeline_(*panel.timeline),
        plot_(timeline_, left, right, longest),
        stuck_(plot_, panel.stuck) {}

  // From `y` on; returns where it ends.
  double draw(double y) {
    plot_.text(8, y + 16, title_, "class=\"title\"");
    legend(y + 30);
    y = axis(y + 48);
    const double top = y;
    const int ranks = timeline_.facts().ranks;
    const int step = (ranks + kMostRanks - 1) / kMostRanks;
    for (int rank = 0; rank < ranks; rank += std::max(1, step)) y = draw_rank(rank, y);
    y = draw_steps(plot_, timeline_, top, y);
    if (step > 1) {
      plot_.text(8, y + 10, fmt::format("every {}th of {} ranks", step, ranks), "class=\"small\"");
      y += 16;
    }
    stuck_.draw_arrows();
    return stuck_.draw_waits(y) + 10;
  }
  [[nodiscard]] const std::string& out() { return plot_.out(); }

 private:
  void legend(double y) {
    double x = plot_.left();
    const auto ops = timeline_.facts().ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      plot_.rect(x, y - 10, 16, 12, fmt::format("fill=\"{}\"", hex(plot_.colour_of(i))));
      plot_.text(x + 21, y, ops[i].name, "class=\"small\"");
      x += 34 + 7.0 * static_cast<double>(ops[i].name.size());
    }
    std::string numbers = "numbers are microbatches";
    if (chunks_of(timeline_) > 1) numbers += "; the mark below is the chunk, from left to right";
    if (std::any_of(timeline_.rows().begin(), timeline_.rows().end(),
                    [](const Row& row) { return row.second; })) {
      numbers += "; two tasks at once share the height";
    }
    plot_.text(x + 6, y, numbers, "class=\"small\"");
    x += 6.1 * static_cast<double>(numbers.size()) + 20;
    if (!timeline_.resources().empty()) {
      constexpr std::string_view kHeld = "held, below each rank; dashed: capacity";
      plot_.rect(x, y - 10, 16, 12, "class=\"held\"");
      plot_.text(x + 21, y, kHeld, "class=\"small\"");
      x += 6.1 * static_cast<double>(kHeld.size()) + 36;
    }
    idle_legend(x, y);
  }

  // The tints that occur.
  void idle_legend(double x, double y) {
    std::map<std::string, std::string> names;  // by colour
    for (const Row& row : timeline_.rows()) {
      for (const trace::IdleEvent& idle : timeline_.idle_of(row)) {
        const bool grey = colour_of(idle.cause) == colour_of(trace::Cause::unknown);
        std::string& name = names[hex(colour_of(idle.cause))];
        if (name.empty()) name = grey ? "idle" : std::string("idle: ") + trace::text_of(idle.cause);
      }
    }
    for (const auto& [colour, name] : names) {
      plot_.rect(x, y - 10, 16, 12, fmt::format("fill=\"{}\"", colour));
      plot_.text(x + 21, y, name, "class=\"small\"");
      x += 6.1 * static_cast<double>(name.size()) + 36;
    }
  }

  double axis(double y) {
    const double length = timeline_.in_unit(timeline_.end() - timeline_.begin());
    const double step = axis_step(length, static_cast<int>((plot_.right() - plot_.left()) / 60));
    for (double t = 0; t <= length * (1 + 1e-9) && step > 0; t += step) {
      const double x =
          plot_.left() + plot_.scale() * t * static_cast<double>(timeline_.run().unit.nanoseconds);
      plot_.text(x, y + 8, fmt::format("{:.6g}", t), "class=\"small\" text-anchor=\"middle\"");
      fmt::format_to(std::back_inserter(plot_.out()),
                     "<line x1=\"{0:.6g}\" x2=\"{0:.6g}\" y1=\"{1:.6g}\" y2=\"{2:.6g}\" "
                     "class=\"tick\"/>\n",
                     x, y + 11, y + 15);
    }
    plot_.text(8, y + 8, "time in " + timeline_.run().unit.name, "class=\"small\"");
    return y + 17;
  }

  double draw_rank(int rank, double y) {
    for (const Row& row : timeline_.rows()) {
      if (row.rank != rank || row.second) continue;
      const double height = draw_engine(plot_, row, y);
      stuck_.draw_beside(row, y);
      y += height + 2;
    }
    for (const std::string_view resource : timeline_.resources()) {
      y = draw_curve(resource, rank, y);
    }
    return y + kGap;
  }

  double draw_curve(std::string_view resource, int rank, double y) {
    const std::vector<Level> levels = timeline_.levels(resource, rank);
    const std::int64_t peak = timeline_.peak(resource, rank);
    const auto capacity = timeline_.capacity(resource, rank);
    if (levels.size() == 1 && !capacity) return y;
    const auto most = static_cast<double>(std::max({peak, capacity.value_or(1), std::int64_t{1}}));
    const double floor = y + kCurveHeight;
    const auto height = [&](std::int64_t held) {
      return floor - (kCurveHeight - 3) * static_cast<double>(held) / most;
    };
    std::string path = fmt::format("M{:.6g} {:.6g}", plot_.left(), floor);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      // Of the levels within half a pixel the highest is seen.
      std::int64_t held = levels[i].held;
      const double x = plot_.x_of(levels[i].at);
      while (i + 1 < levels.size() && plot_.x_of(levels[i + 1].at) < x + 0.5) {
        ++i;
        const bool same = levels[i].at == levels[i - 1].at;
        held =
            same && plot_.x_of(levels[i].at) == x ? levels[i].held : std::max(held, levels[i].held);
      }
      path += fmt::format("H{:.6g}V{:.6g}", x, height(held));
    }
    path += fmt::format("H{:.6g}V{:.6g}z", plot_.x_of(timeline_.end()), floor);
    plot_.out() += fmt::format("<path class=\"held\" d=\"{}\"/>\n", path);
    if (capacity) {
      fmt::format_to(std::back_inserter(plot_.out()),
                     "<line x1=\"{0:.6g}\" x2=\"{1:.6g}\" y1=\"{2:.6g}\" y2=\"{2:.6g}\" "
                     "class=\"capacity\"/>\n",
                     plot_.left(), plot_.x_of(timeline_.end()), height(*capacity));
    }
    const std::string_view unit = timeline_.unit_of(resource);
    plot_.text(20, floor - 4,
               fmt::format("{} {}{}{}", resource, peak, unit.empty() ? "" : " ", unit),
               "class=\"small\"");
    return floor + 2;
  }

  const std::string& title_;
  const Timeline& timeline_;
  SvgPlot plot_;
  StuckSvg stuck_;
};

constexpr const char* kStyle = R"(<style>
text{font:12px system-ui,sans-serif;fill:#111}
.title{font-weight:600;font-size:14px}.small{font-size:11px}
.number text{font-size:11px;text-anchor:middle;fill:inherit}
.box rect{stroke:#fff;stroke-width:.6}.idle{fill:#f7f7f7}
.held{fill:#7d8590}.capacity{stroke:#111;stroke-dasharray:3 3;stroke-width:.8}.tick{stroke:#111}
.stuck{fill:#fff;stroke:#b00020;stroke-dasharray:4 2;stroke-width:1.6}.circle{fill:#b00020;font-size:11px;font-weight:600}
.wait{fill:none;stroke:#b00020;stroke-width:1.6;marker-end:url(#arrow)}
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#b00020"/></marker></defs>
)";

}  // namespace

std::string svg(const std::vector<Panel>& panels, const PictureOptions& options) {
  Time longest{0};
  bool stuck = false;
  for (const Panel& panel : panels) {
    longest = std::max(longest, panel.timeline->end() - panel.timeline->begin());
    stuck = stuck || panel.stuck.any();
  }
  const double width = std::max(options.width, 400);
  double y = 4;
  std::string body;
  for (const Panel& panel : panels) {
    PanelSvg drawn(panel, kLeft, width - 16 - (stuck ? kStuckWidth : 0), longest);
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
