#include "view/trade.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "view/palette.h"
#include "view/picture.h"

namespace ripeline::view {
namespace {

constexpr double kTop = 40;
constexpr double kBottom = 46;
constexpr double kLeft = 78;
constexpr double kRight = 24;
constexpr int kTicks = 6;
constexpr Colour kBest{0x1f, 0x5f, 0xa8};
constexpr Colour kOther{0xc2, 0x4a, 0x1d};

// The distance between two marks: 1, 2 or 5 times a power of ten.
double step_of(double length) {
  const double rough = length / kTicks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double times : {1., 2., 5.}) {
    if (times * power >= rough) return times * power;
  }
  return 10 * power;
}

struct Axis {
  double low = std::numeric_limits<double>::max();
  double high = std::numeric_limits<double>::lowest();
  double from = 0;  // pixels
  double to = 0;

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void widen(double part) {
    const double margin = std::max(high - low, 1e-9 + std::abs(high) * .02) * part;
    low -= margin;
    high += margin;
  }
  [[nodiscard]] double at(double value) const {
    return from + (to - from) * (value - low) / (high - low);
  }
};

class TradePlot {
 public:
  TradePlot(const Trade& trade, int width)
      : trade_(trade), width_(width), height_(std::max(240, width * 9 / 16)) {
    for (const auto* points : {&trade.best, &trade.bounds, &trade.others}) {
      for (const TradePoint& point : *points) {
        x_.take(point.memory);
        y_.take(point.time);
      }
    }
    x_.widen(.06);
    y_.widen(.08);
    x_.from = kLeft;
    x_.to = width_ - kRight;
    y_.from = height_ - kBottom;
    y_.to = kTop;
  }

  std::string run() {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" "
        "height=\"{1}\" fill=\"white\"/>\n",
        width_, height_);
    text(kLeft, 22, trade_.title, "font-weight=\"bold\"");
    grid();
    line(trade_.bounds, fmt::format("stroke=\"{}\" stroke-dasharray=\"5 4\"", hex(kHeld)));
    line(trade_.best, fmt::format("stroke=\"{}\" stroke-width=\"2\"", hex(kBest)));
    for (const TradePoint& point : trade_.best) dot(point, kBest);
    for (const TradePoint& point : trade_.others) dot(point, kOther);
    return out_ + "</svg>\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void text(double x, double y, const std::string& what, const std::string& more) {
    add("<text x=\"{:.6g}\" y=\"{:.6g}\" fill=\"{}\" {}>{}</text>\n", x, y, hex(kBlack), more,
        escaped(what));
  }

  void grid() {
    const double step_x = step_of(x_.high - x_.low);
    for (double v = std::ceil(x_.low / step_x) * step_x; v <= x_.high; v += step_x) {
      add("<path d=\"M{0:.6g} {1:.6g}V{2:.6g}\" stroke=\"#e3e6ea\"/>\n", x_.at(v), y_.from, y_.to);
      text(x_.at(v), y_.from + 16, fmt::format("{:g}", v), "text-anchor=\"middle\"");
    }
    const double step_y = step_of(y_.high - y_.low);
    for (double v = std::ceil(y_.low / step_y) * step_y; v <= y_.high; v += step_y) {
      add("<path d=\"M{0:.6g} {1:.6g}H{2:.6g}\" stroke=\"#e3e6ea\"/>\n", x_.from, y_.at(v), x_.to);
      text(x_.from - 6, y_.at(v) + 4, fmt::format("{:g}", v), "text-anchor=\"end\"");
    }
    text((x_.from + x_.to) / 2, height_ - 10., trade_.memory_label, "text-anchor=\"middle\"");
    text(x_.from, kTop - 6, trade_.time_label + "; dashed: nothing is below", "");
  }

  void line(const std::vector<TradePoint>& points, const std::string& style) {
    if (points.empty()) return;
    std::string path;
    for (const TradePoint& point : points) {
      path += fmt::format("{}{:.6g} {:.6g}", path.empty() ? "M" : "L", x_.at(point.memory),
                          y_.at(point.time));
    }
    add("<path d=\"{}\" fill=\"none\" {}/>\n", path, style);
  }

  // Draws a point, with its label on the right or, near the right edge, on the left.
  void dot(const TradePoint& point, Colour colour) {
    const double x = x_.at(point.memory);
    const double y = y_.at(point.time);
    add("<circle cx=\"{:.6g}\" cy=\"{:.6g}\" r=\"4\" fill=\"{}\"><title>{}: {:g} at {:g}</title>"
        "</circle>\n",
        x, y, hex(colour), escaped(point.label), point.time, point.memory);
    const bool at_edge = x > (x_.from + 2 * x_.to) / 3;
    text(at_edge ? x - 8 : x + 8, y - 6, point.label,
         at_edge ? "text-anchor=\"end\" font-size=\"11\"" : "font-size=\"11\"");
  }

  const Trade& trade_;
  int width_;
  int height_;
  Axis x_;
  Axis y_;
  std::string out_;
};

}  // namespace

std::string trade_svg(const Trade& trade, int width) { return TradePlot(trade, width).run(); }

}  // namespace ripeline::view
