#include "view/svg_engine.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/print.h"

namespace ripeline::view {
namespace {

using core::Time;

constexpr double kNarrow = 2.5;  // tasks are drawn one by one if their mean width is at least this
constexpr double kLeastBin = 2;  // the width of a bin if tasks are narrower
constexpr double kMostBin = 8;
constexpr int kMostTitles = 4000;  // tasks with a text to hover over
constexpr int kUnmarked = 2;       // the most chunks that can be told apart by shade alone

class EngineSvg {
 public:
  EngineSvg(SvgPlot& plot, const Row& row, Drawn& drawn)
      : plot_(plot),
        timeline_(plot.timeline()),
        palette_(plot.palette()),
        row_(row),
        drawn_(drawn) {
    for (int id = row.first; id < timeline_.rows_of_engine(row).back().end; ++id) {
      if (plot.shows(timeline_.box(id).start, timeline_.box(id).end)) shown_.push_back(id);
    }
  }

  double draw(double y) {
    const bool shared = timeline_.rows_of_engine(row_).size() > 1;
    const double height = shared ? plot_.heights().shared : plot_.heights().row;
    const double width = plot_.x_of(plot_.to()) - plot_.left();
    drawn_.shared = drawn_.shared || shared;
    plot_.text(8, y + (plot_.heights().row + kSvgSmallFont) / 2 - 2, name_of(row_));
    plot_.rect(plot_.left(), y, width, height, "class=\"idle\"");
    if (width < kNarrow * static_cast<double>(shown_.size())) {
      draw_shares(y, height);
    } else {
      draw_idle(y, height);
      draw_boxes(y, height);
    }
    return height;
  }

 private:
  void draw_idle(double y, double height) {
    for (const trace::IdleEvent& idle : timeline_.idle_of(row_)) {
      if (!plot_.shows(idle.start, idle.end)) continue;
      drawn_.idle.insert(idle.cause);
      const double x = plot_.x_of(idle.start);
      fmt::format_to(std::back_inserter(plot_.out()),
                     "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.4g}\" height=\"{:.4g}\" "
                     "fill=\"{}\"><title>idle {} - {}: {}</title></rect>\n",
                     x, y, plot_.x_of(idle.end) - x, height, hex(colour_of(idle.cause)),
                     text_of(timeline_, idle.start - timeline_.begin()),
                     text_of(timeline_, idle.end - timeline_.begin()), trace::text_of(idle.cause));
    }
  }

  // Draws the boxes shade by shade, so that each shade is written once.
  void draw_boxes(double y, double height) {
    const auto count = static_cast<int>(shown_.size());
    const bool titles = count <= kMostTitles / std::max(1, timeline_.facts().ranks);
    for (std::size_t shade = 0; shade < palette_.size(); ++shade) {
      std::string boxes;
      std::string numbers;
      for (const int id : shown_) {
        if (palette_.index(lane_of(id)) == shade) draw_box(id, y, height, titles, boxes, numbers);
      }
      if (boxes.empty()) continue;
      plot_.out() +=
          fmt::format("<g class=\"box\" fill=\"{}\">\n{}</g>\n", hex(palette_[shade]), boxes);
      if (numbers.empty()) continue;
      plot_.out() += fmt::format("<g class=\"number\" fill=\"{}\">\n{}</g>\n",
                                 hex(ink_on(palette_[shade])), numbers);
    }
  }

  [[nodiscard]] const core::LaneFacts& lane_of(int id) const {
    return timeline_.facts().lanes[static_cast<std::size_t>(timeline_.box(id).task.lane)];
  }

  void draw_box(int id, double y, double height, bool titles, std::string& boxes,
                std::string& numbers) {
    const Box& b = timeline_.box(id);
    const double x = plot_.x_of(b.start);
    const double width = plot_.x_of(b.end) - x;
    const std::string others = names_beside(timeline_, id);
    const char* const name = others.empty() ? "rect" : "path";
    const std::string shape =
        others.empty()
            ? fmt::format("<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.4g}\" height=\"{:.4g}\"", x,
                          y, width, height)
            : fmt::format("<path stroke=\"#fff\" stroke-width=\".6\" d=\"{}\"",
                          outline(id, y, height));
    if (titles) {
      boxes += fmt::format("{}><title>{} {} - {}{}{}</title></{}>\n", shape,
                           core::task_name(timeline_.facts(), b.task),
                           text_of(timeline_, b.start - timeline_.begin()),
                           text_of(timeline_, b.end - timeline_.begin()),
                           others.empty() ? "" : ", beside ", others, name);
    } else {
      boxes += shape + "/>\n";
    }
    // The label is in the half of the row that belongs to the task all the time.
    if (!others.empty()) {
      height /= 2;
      if (timeline_.row_of(id).second) y += height;
    }
    label(id, x, y, width, height, numbers);
  }

  // Writes a task's microbatch and, if shades are too similar, a mark for its chunk.
  void label(int id, double x, double y, double width, double height, std::string& numbers) {
    const core::LaneFacts& lane = lane_of(id);
    const std::string number =
        std::to_string(timeline_.facts().microbatch_of(timeline_.box(id).task));
    if (!lane.once && width >= text_width(number, kSvgSmallFont) + 2) {
      numbers += fmt::format("<text x=\"{:.6g}\" y=\"{:.6g}\">{}</text>\n", x + width / 2,
                             y + height / 2 + 3.5, number);
      ++drawn_.numbers;
    } else if (!lane.once) {
      ++drawn_.left_out;
    }
    if (const int all = palette_.chunks(); all > kUnmarked && width > 4) {
      const double part = (width - 2) / all;
      numbers += fmt::format("<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.4g}\" height=\"2\"/>\n",
                             x + 1 + part * lane.chunk, y + height - 2.5, part);
    }
  }

  // The outline of a task that ran beside others. While others ran, it covers half the height: the
  // upper half if the task is in the engine's first row, the lower half if it is in the second.
  [[nodiscard]] std::string outline(int id, double y, double height) const {
    const Box& b = timeline_.box(id);
    const bool second = timeline_.row_of(id).second;
    const double edge = second ? y + height : y;
    const double whole = second ? y : y + height;
    const BoxSpan others = timeline_.beside(id);
    std::string path =
        fmt::format("M{:.6g} {:.6g}H{:.6g}", plot_.x_of(b.start), edge, plot_.x_of(b.end));
    Time at = b.end;
    for (int other = others.end; other-- > others.first;) {
      const Time from = std::max(b.start, timeline_.box(other).start);
      const Time to = std::min(b.end, timeline_.box(other).end);
      if (to < at) path += fmt::format("V{:.6g}H{:.6g}", whole, plot_.x_of(to));
      path += fmt::format("V{:.6g}H{:.6g}", y + height / 2, plot_.x_of(from));
      at = from;
    }
    if (b.start < at) path += fmt::format("V{:.6g}H{:.6g}", whole, plot_.x_of(b.start));
    return path + "z";
  }

  // Draws how busy the engine is in each bin, shade by shade from the bottom. Two tasks that run at
  // once count half each.
  void draw_shares(double y, double height) {
    drawn_.shares = true;
    const double width = plot_.x_of(plot_.to()) - plot_.left();
    // A bin is a few tasks wide, so that a regular pattern of tasks makes a regular picture.
    const double mean = width / static_cast<double>(shown_.size());
    const double bin = std::clamp(6 * mean, kLeastBin, kMostBin);
    const auto bins = static_cast<std::size_t>(std::ceil(width / bin)) + 1;
    std::vector<std::vector<double>> busy(palette_.size(), std::vector<double>(bins, 0));
    const auto add = [&](std::vector<double>& sums, Time start, Time end, double part) {
      const double from = (plot_.x_of(start) - plot_.left()) / bin;
      const double to = (plot_.x_of(end) - plot_.left()) / bin;
      for (auto i = static_cast<std::size_t>(from); i < bins && static_cast<double>(i) < to; ++i) {
        sums[i] += part * (std::min(to, static_cast<double>(i + 1)) -
                           std::max(from, static_cast<double>(i)));
      }
    };
    for (const int id : shown_) {
      const Box& b = timeline_.box(id);
      std::vector<double>& sums = busy[palette_.index(lane_of(id))];
      add(sums, b.start, b.end, 1);
      const BoxSpan others = timeline_.beside(id);
      for (int other = others.first; other < others.end; ++other) {
        const Box& beside = timeline_.box(other);
        add(sums, std::max(b.start, beside.start), std::min(b.end, beside.end), -0.5);
      }
    }
    std::vector<double> below(bins, 0);
    for (std::size_t shade = 0; shade < busy.size(); ++shade) {
      draw_share(hex(palette_[shade]), busy[shade], bin, y, height, below);
    }
  }

  // Draws a share on top of `below`, and adds it to `below`. The last bin ends with the engine.
  void draw_share(const std::string& colour, const std::vector<double>& busy, double bin, double y,
                  double height, std::vector<double>& below) {
    const double right = plot_.x_of(plot_.to());
    std::string path;
    for (std::size_t i = 0; i < busy.size(); ++i) {
      if (busy[i] < 0.005) continue;
      const double x = plot_.left() + bin * static_cast<double>(i);
      const double width = std::min(bin, right - x);
      if (width < 0.01) continue;
      const double share = busy[i] * bin / width;
      path += fmt::format("M{:.5g} {:.5g}h{:.3g}v-{:.3g}h-{:.3g}z", x, y + height * (1 - below[i]),
                          width, height * share, width);
      below[i] += share;
    }
    if (path.empty()) return;
    plot_.out() += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", colour, path);
  }

  SvgPlot& plot_;
  const Timeline& timeline_;
  const Palette& palette_;
  const Row& row_;
  Drawn& drawn_;
  std::vector<int> shown_;  // the boxes of its rows that are shown
};

}  // namespace

double draw_engine(SvgPlot& plot, const Row& row, double y, Drawn& drawn) {
  return EngineSvg(plot, row, drawn).draw(y);
}

}  // namespace ripeline::view
