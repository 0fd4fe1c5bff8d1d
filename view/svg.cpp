// The picture as SVG: from top to bottom the title and legend of each panel, its axis, and per rank
// its engines with what each resource holds below.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/print.h"
#include "view/palette.h"
#include "view/picture.h"

namespace ripeline::view {
namespace {

using core::LaneId;
using core::Time;

constexpr double kLeft = 120;  // of the plot
constexpr double kRowHeight = 22;
constexpr double kSharedHeight = 32;  // of an engine that runs two tasks at once
constexpr double kCurveHeight = 18;
constexpr double kGap = 5;     // below a rank
constexpr double kNarrow = 3;  // mean width of a row's tasks from which they are drawn one by one
constexpr double kBin = 2;     // of a row whose tasks are narrower
constexpr int kMostRanks = 128;
constexpr int kMostTitles = 4000;  // tasks with a text to hover over
constexpr double kStuckWidth = 110;

void text(std::string& out, double x, double y, std::string_view what, std::string_view more = {}) {
  fmt::format_to(std::back_inserter(out), "<text x=\"{:.6g}\" y=\"{:.6g}\"{}{}>{}</text>\n", x, y,
                 more.empty() ? "" : " ", more, escaped(what));
}

void rect(std::string& out, double x, double y, double width, double height,
          std::string_view more) {
  fmt::format_to(std::back_inserter(out),
                 "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.4g}\" height=\"{:.4g}\" {}/>\n", x, y,
                 width, height, more);
}

class PanelSvg {
 public:
  PanelSvg(const Panel& panel, double left, double right, Time longest)
      : panel_(panel),
        timeline_(*panel.timeline),
        colours_(op_colours(timeline_.facts())),
        left_(left),
        right_(right),
        scale_((right - left) / std::max<double>(1, static_cast<double>(longest.count()))) {}

  // From `y` on; returns where it ends.
  double draw(double y) {
    text(out_, 8, y + 16, panel_.title, "class=\"title\"");
    legend(y + 30);
    y = axis(y + 48);
    const int ranks = timeline_.facts().ranks;
    const int step = (ranks + kMostRanks - 1) / kMostRanks;
    for (int rank = 0; rank < ranks; rank += std::max(1, step)) y = draw_rank(rank, y);
    if (step > 1) {
      text(out_, 8, y + 10, fmt::format("every {}th of {} ranks", step, ranks), "class=\"small\"");
      y += 16;
    }
    arrows();
    for (std::size_t i = 0; i < panel_.stuck.waits.size() && i < kMostWaits; ++i) {
      const Wait& wait = panel_.stuck.waits[i];
      text(out_, left_, y + 12,
           fmt::format("{} waits for {}", core::task_name(timeline_.facts(), wait.task), wait.text),
           i < panel_.stuck.circle ? "class=\"circle\"" : "class=\"small\"");
      y += 14;
    }
    return y + 10;
  }
  [[nodiscard]] const std::string& out() const { return out_; }

 private:
  static constexpr std::size_t kMostWaits = 8;

  [[nodiscard]] double x_of(Time time) const {
    return left_ + scale_ * static_cast<double>((time - timeline_.begin()).count());
  }

  void legend(double y) {
    double x = left_;
    const auto ops = timeline_.facts().ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      rect(out_, x, y - 10, 16, 12, fmt::format("fill=\"{}\"", hex(colours_[i])));
      text(out_, x + 21, y, ops[i].name, "class=\"small\"");
      x += 34 + 7.0 * static_cast<double>(ops[i].name.size());
    }
    std::string numbers = "numbers are microbatches";
    if (chunks() > 1) numbers += "; the mark below is the chunk, from left to right";
    if (std::any_of(timeline_.rows().begin(), timeline_.rows().end(),
                    [](const Row& row) { return row.second; })) {
      numbers += "; two tasks at once share the height";
    }
    text(out_, x + 6, y, numbers, "class=\"small\"");
    x += 6.1 * static_cast<double>(numbers.size()) + 20;
    if (!timeline_.resources().empty()) {
      constexpr std::string_view kHeld = "held, below each rank; dashed: capacity";
      rect(out_, x, y - 10, 16, 12, "class=\"held\"");
      text(out_, x + 21, y, kHeld, "class=\"small\"");
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
      rect(out_, x, y - 10, 16, 12, fmt::format("fill=\"{}\"", colour));
      text(out_, x + 21, y, name, "class=\"small\"");
      x += 6.1 * static_cast<double>(name.size()) + 36;
    }
  }

  [[nodiscard]] int chunks() const {
    int most = 0;
    for (const core::LaneFacts& lane : timeline_.facts().lanes) most = std::max(most, lane.chunk);
    return most + 1;
  }

  double axis(double y) {
    const double length = timeline_.in_unit(timeline_.end() - timeline_.begin());
    const double step = axis_step(length, static_cast<int>((right_ - left_) / 60));
    for (double t = 0; t <= length * (1 + 1e-9) && step > 0; t += step) {
      const double x = left_ + scale_ * t * static_cast<double>(timeline_.run().unit.nanoseconds);
      text(out_, x, y + 8, fmt::format("{:.6g}", t), "class=\"small\" text-anchor=\"middle\"");
      fmt::format_to(std::back_inserter(out_),
                     "<line x1=\"{0:.6g}\" x2=\"{0:.6g}\" y1=\"{1:.6g}\" y2=\"{2:.6g}\" "
                     "class=\"tick\"/>\n",
                     x, y + 11, y + 15);
    }
    text(out_, 8, y + 8, "time in " + timeline_.run().unit.name, "class=\"small\"");
    return y + 17;
  }

  double draw_rank(int rank, double y) {
    for (const Row& row : timeline_.rows()) {
      if (row.rank != rank || row.second) continue;
      const std::span<const Row> rows = timeline_.rows_of_engine(row);
      const double height = rows.size() > 1 ? kSharedHeight : kRowHeight;
      text(out_, 8, y + 15, name_of(row));
      rect(out_, left_, y, x_of(timeline_.end()) - left_, height, "class=\"idle\"");
      const int count = rows.back().end - row.first;
      const double width = x_of(timeline_.end()) - left_;
      if (count > 0 && width / count < kNarrow) {
        draw_shares(row, y, height);
      } else {
        draw_idle(row, y, height);
        draw_boxes(row, y, height);
      }
      draw_stuck(row, y);
      y += height + 2;
    }
    for (const std::string_view resource : timeline_.resources()) {
      y = draw_curve(resource, rank, y);
    }
    return y + kGap;
  }

  void draw_idle(const Row& row, double y, double height) {
    for (const trace::IdleEvent& idle : timeline_.idle_of(row)) {
      const double x = x_of(idle.start);
      fmt::format_to(std::back_inserter(out_),
                     "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.4g}\" height=\"{:.4g}\" "
                     "fill=\"{}\"><title>idle {} - {}: {}</title></rect>\n",
                     x, y, x_of(idle.end) - x, height, hex(colour_of(idle.cause)),
                     text_of(timeline_, idle.start - timeline_.begin()),
                     text_of(timeline_, idle.end - timeline_.begin()), trace::text_of(idle.cause));
    }
  }

  // By op, so that a colour is written once.
  void draw_boxes(const Row& row, double y, double height) {
    const core::ProgramFacts& facts = timeline_.facts();
    const bool titles = timeline_.boxes().size() <= kMostTitles;
    for (std::size_t op = 0; op < facts.ops.size(); ++op) {
      std::string boxes;
      std::string numbers;
      for (int id = row.first; id < timeline_.rows_of_engine(row).back().end; ++id) {
        const LaneId lane = timeline_.box(id).task.lane;
        if (facts.lanes[static_cast<std::size_t>(lane)].op != static_cast<int>(op)) continue;
        draw_box(id, y, height, titles, boxes, numbers);
      }
      if (boxes.empty()) continue;
      out_ += fmt::format("<g class=\"box\" fill=\"{}\">\n{}</g>\n", hex(colours_[op]), boxes);
      if (numbers.empty()) continue;
      out_ += fmt::format("<g class=\"number\" fill=\"{}\">\n{}</g>\n", hex(ink_on(colours_[op])),
                          numbers);
    }
  }

  void draw_box(int id, double y, double height, bool titles, std::string& boxes,
                std::string& numbers) const {
    const Box& b = timeline_.box(id);
    const core::LaneFacts& lane = timeline_.facts().lanes[static_cast<std::size_t>(b.task.lane)];
    const double x = x_of(b.start);
    const double width = x_of(b.end) - x;
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
    if (const int all = chunks(); all > 1 && width > 4) {
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
    std::string path = fmt::format("M{:.6g} {:.6g}H{:.6g}", x_of(b.start), edge, x_of(b.end));
    Time at = b.end;
    for (int other = others.end; other-- > others.first;) {
      const Time from = std::max(b.start, timeline_.box(other).start);
      const Time to = std::min(b.end, timeline_.box(other).end);
      if (to < at) path += fmt::format("V{:.6g}H{:.6g}", whole, x_of(to));
      path += fmt::format("V{:.6g}H{:.6g}", y + height / 2, x_of(from));
      at = from;
    }
    if (b.start < at) path += fmt::format("V{:.6g}H{:.6g}", whole, x_of(b.start));
    return path + "z";
  }

  // How busy the engine is in each bin, op by op from the bottom. Of two tasks at once each counts
  // half.
  void draw_shares(const Row& row, double y, double height) {
    const core::ProgramFacts& facts = timeline_.facts();
    const double width = x_of(timeline_.end()) - left_;
    const auto bins = static_cast<std::size_t>(std::ceil(width / kBin)) + 1;
    std::vector<std::vector<double>> busy(facts.ops.size(), std::vector<double>(bins, 0));
    const auto add = [&](std::size_t op, Time start, Time end, double part) {
      const double from = (x_of(start) - left_) / kBin;
      const double to = (x_of(end) - left_) / kBin;
      for (auto i = static_cast<std::size_t>(from); i < bins && static_cast<double>(i) < to; ++i) {
        busy[op][i] += part * (std::min(to, static_cast<double>(i + 1)) -
                               std::max(from, static_cast<double>(i)));
      }
    };
    for (int id = row.first; id < timeline_.rows_of_engine(row).back().end; ++id) {
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
                            left_ + kBin * static_cast<double>(i), y + height * (1 - below[i]),
                            kBin, height * busy[op][i], kBin);
        below[i] += busy[op][i];
      }
      if (!path.empty())
        out_ += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", hex(colours_[op]), path);
    }
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
    std::string path = fmt::format("M{:.6g} {:.6g}", left_, floor);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      // Of the levels within half a pixel the highest is seen.
      std::int64_t held = levels[i].held;
      const double x = x_of(levels[i].at);
      while (i + 1 < levels.size() && x_of(levels[i + 1].at) < x + 0.5) {
        ++i;
        const bool same = levels[i].at == levels[i - 1].at;
        held = same && x_of(levels[i].at) == x ? levels[i].held : std::max(held, levels[i].held);
      }
      path += fmt::format("H{:.6g}V{:.6g}", x, height(held));
    }
    path += fmt::format("H{:.6g}V{:.6g}z", x_of(timeline_.end()), floor);
    out_ += fmt::format("<path class=\"held\" d=\"{}\"/>\n", path);
    if (capacity) {
      fmt::format_to(std::back_inserter(out_),
                     "<line x1=\"{0:.6g}\" x2=\"{1:.6g}\" y1=\"{2:.6g}\" y2=\"{2:.6g}\" "
                     "class=\"capacity\"/>\n",
                     left_, x_of(timeline_.end()), height(*capacity));
    }
    const std::string_view unit = timeline_.unit_of(resource);
    text(out_, 20, floor - 4,
         fmt::format("{} {}{}{}", resource, peak, unit.empty() ? "" : " ", unit),
         "class=\"small\"");
    return floor + 2;
  }

  // Dashed, at the end of its row: what did not start.
  void draw_stuck(const Row& row, double y) {
    double x = x_of(timeline_.end()) + 14;
    for (std::size_t i = 0; i < panel_.stuck.waits.size(); ++i) {
      const core::Task task = panel_.stuck.waits[i].task;
      const core::LaneFacts& lane = timeline_.facts().lanes[static_cast<std::size_t>(task.lane)];
      if (lane.rank != row.rank || lane.engine != row.engine) continue;
      if (i >= panel_.stuck.circle && panel_.stuck.circle > 0) continue;
      const std::string name = core::task_name(timeline_.facts(), task);
      const double width = 8 + 7.0 * static_cast<double>(name.size());
      rect(out_, x, y + 2, width, kRowHeight - 4, "class=\"stuck\"");
      text(out_, x + width / 2, y + 15, name, "class=\"circle\" text-anchor=\"middle\"");
      places_[i] = {x + width / 2, y + kRowHeight / 2, width / 2};
      x += width + 12;
    }
  }

  // From each task of the circle to what it waits for.
  void arrows() {
    const std::size_t circle = panel_.stuck.circle;
    for (std::size_t i = 0; i < circle; ++i) {
      const auto from = places_.find(i);
      const auto to = places_.find((i + 1) % circle);
      if (from == places_.end() || to == places_.end()) continue;
      const Place& a = from->second;
      const Place& b = to->second;
      if (a.y == b.y) {  // above the row
        const double side = a.x < b.x ? 1 : -1;
        fmt::format_to(std::back_inserter(out_),
                       "<path class=\"wait\" d=\"M{:.6g} {:.6g}Q{:.6g} {:.6g} {:.6g} {:.6g}\"/>\n",
                       a.x, a.y - 9 * side, (a.x + b.x) / 2, a.y - 22 * side, b.x, b.y - 9 * side);
        continue;
      }
      // Down on the right, up on the left, so that both ways are seen.
      const double side = a.y < b.y ? 1 : -1;
      const double x1 = a.x + side * a.half;
      const double x2 = b.x + side * b.half;
      const double bend = side > 0 ? std::max(x1, x2) + 26 : std::min(x1, x2) - 26;
      fmt::format_to(std::back_inserter(out_),
                     "<path class=\"wait\" d=\"M{:.6g} {:.6g}C{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} "
                     "{:.6g}\"/>\n",
                     x1, a.y, bend, a.y, bend, b.y, x2, b.y);
    }
  }

  struct Place {
    double x = 0;
    double y = 0;
    double half = 0;  // of its width
  };

  const Panel& panel_;
  const Timeline& timeline_;
  std::vector<Colour> colours_;
  double left_;
  double right_;
  double scale_;                         // pixels per nanosecond
  std::map<std::size_t, Place> places_;  // of the waits that are drawn
  std::string out_;
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

double axis_step(double length, int most) {
  if (!(length > 0) || most < 1) return 0;
  const double least = length / most;
  double step = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (step * factor >= least * (1 - 1e-9)) return step * factor;
  }
  return step * 10;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

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
