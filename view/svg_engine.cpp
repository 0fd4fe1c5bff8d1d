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

using core::LaneId;
using core::Time;

constexpr double kSharedHeight = 32;  // of an engine that runs two tasks at once
constexpr double kNarrow = 3;         // mean width of tasks from which they are drawn one by one
constexpr double kBin = 2;            // of an engine whose tasks are narrower
constexpr int kMostTitles = 4000;     // tasks with a text to hover over

class EngineSvg {
 public:
  EngineSvg(SvgPlot& plot, const Row& row) : plot_(plot), timeline_(plot.timeline()), row_(row) {}

  double draw(double y) {
    const std::span<const Row> rows = timeline_.rows_of_engine(row_);
    const double height = rows.size() > 1 ? kSharedHeight : kSvgRowHeight;
    const double width = plot_.x_of(timeline_.end()) - plot_.left();
    plot_.text(8, y + 15, name_of(row_));
    plot_.rect(plot_.left(), y, width, height, "class=\"idle\"");
    const int count = rows.back().end - row_.first;
    if (count > 0 && width / count < kNarrow) {
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
      const double x = plot_.x_of(idle.start);
      fmt::format_to(std::back_inserter(plot_.out()),
                     "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.4g}\" height=\"{:.4g}\" "
                     "fill=\"{}\"><title>idle {} - {}: {}</title></rect>\n",
                     x, y, plot_.x_of(idle.end) - x, height, hex(colour_of(idle.cause)),
                     text_of(timeline_, idle.start - timeline_.begin()),
                     text_of(timeline_, idle.end - timeline_.begin()), trace::text_of(idle.cause));
    }
  }

  // By op, so that a colour is written once.
  void draw_boxes(double y, double height) {
    const core::ProgramFacts& facts = timeline_.facts();
    const bool titles = timeline_.boxes().size() <= kMostTitles;
    for (std::size_t op = 0; op < facts.ops.size(); ++op) {
      std::string boxes;
      std::string numbers;
      for (int id = row_.first; id < timeline_.rows_of_engine(row_).back().end; ++id) {
        const LaneId lane = timeline_.box(id).task.lane;
        if (facts.lanes[static_cast<std::size_t>(lane)].op != static_cast<int>(op)) continue;
        draw_box(id, y, height, titles, boxes, numbers);
      }
      if (boxes.empty()) continue;
      plot_.out() +=
          fmt::format("<g class=\"box\" fill=\"{}\">\n{}</g>\n", hex(plot_.colour_of(op)), boxes);
      if (numbers.empty()) continue;
      plot_.out() += fmt::format("<g class=\"number\" fill=\"{}\">\n{}</g>\n",
                                 hex(ink_on(plot_.colour_of(op))), numbers);
    }
  }

  void draw_box(int id, double y, double height, bool titles, std::string& boxes,
                std::string& numbers) const {
    const Box& b = timeline_.box(id);
    const core::LaneFacts& lane = timeline_.facts().lanes[static_cast<std::size_t>(b.task.lane)];
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
    // In the half that it has throughout.
    if (!others.empty()) {
      height /= 2;
      if (timeline_.row_of(id).second) y += height;
    }
    const std::string number = std::to_string(timeline_.facts().microbatch_of(b.task));
    if (!lane.once && width >= 6.5 * static_cast<double>(number.size()) + 2) {
      numbers += fmt::format("<text x=\"{:.6g}\" y=\"{:.6g}\">{}</text>\n", x + width / 2,
                             y + height / 2 + 3, number);
    }
    if (const int all = chunks_of(timeline_); all > 1 && width > 4) {
      const double part = (width - 2) / all;
      numbers += fmt::format("<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.4g}\" height=\"2.5\"/>\n",
                             x + 1 + part * lane.chunk, y + height - 3.5, part);
    }
  }

  // Of a task that ran beside others: half the height while it did, the upper half in the first
  // row.
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

  // How busy the engine is in each bin, op by op from the bottom. Of two tasks at once each counts
  // half.
  void draw_shares(double y, double height) {
    const core::ProgramFacts& facts = timeline_.facts();
    const double width = plot_.x_of(timeline_.end()) - plot_.left();
    const auto bins = static_cast<std::size_t>(std::ceil(width / kBin)) + 1;
    std::vector<std::vector<double>> busy(facts.ops.size(), std::vector<double>(bins, 0));
    const auto add = [&](std::size_t op, Time start, Time end, double part) {
      const double from = (plot_.x_of(start) - plot_.left()) / kBin;
      const double to = (plot_.x_of(end) - plot_.left()) / kBin;
      for (auto i = static_cast<std::size_t>(from); i < bins && static_cast<double>(i) < to; ++i) {
        busy[op][i] += part * (std::min(to, static_cast<double>(i + 1)) -
                               std::max(from, static_cast<double>(i)));
      }
    };
    for (int id = row_.first; id < timeline_.rows_of_engine(row_).back().end; ++id) {
      const Box& b = timeline_.box(id);
      const auto op =
          static_cast<std::size_t>(facts.lanes[static_cast<std::size_t>(b.task.lane)].op);
      add(op, b.start, b.end, 1);
      const BoxSpan others = timeline_.beside(id);
      for (int other = others.first; other < others.end; ++other) {
        const Box& beside = timeline_.box(other);
        add(op, std::max(b.start, beside.start), std::min(b.end, beside.end), -0.5);
      }
    }
    std::vector<double> below(bins, 0);
    for (std::size_t op = 0; op < busy.size(); ++op) {
      std::string path;
      for (std::size_t i = 0; i < bins; ++i) {
        if (busy[op][i] < 0.005) continue;
        path += fmt::format("M{:.5g} {:.5g}h{:.2g}v-{:.3g}h-{:.2g}z",
                            plot_.left() + kBin * static_cast<double>(i),
                            y + height * (1 - below[i]), kBin, height * busy[op][i], kBin);
        below[i] += busy[op][i];
      }
      if (!path.empty())
        plot_.out() +=
            fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", hex(plot_.colour_of(op)), path);
    }
  }

  SvgPlot& plot_;
  const Timeline& timeline_;
  const Row& row_;
};

}  // namespace

int chunks_of(const Timeline& timeline) {
  int most = 0;
  for (const core::LaneFacts& lane : timeline.facts().lanes) most = std::max(most, lane.chunk);
  return most + 1;
}

double draw_engine(SvgPlot& plot, const Row& row, double y) { return EngineSvg(plot, row).draw(y); }

}  // namespace ripeline::view
