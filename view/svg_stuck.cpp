#include "view/svg_stuck.h"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "core/print.h"

namespace ripeline::view {
namespace {

constexpr std::size_t kMostWaits = 8;  // in words

}  // namespace

void StuckSvg::draw_beside(const Row& row, double y) {
  double x = plot_.x_of(plot_.timeline().end()) + 14;
  for (std::size_t i = 0; i < stuck_.waits.size(); ++i) {
    const core::Task task = stuck_.waits[i].task;
    const core::LaneFacts& lane =
        plot_.timeline().facts().lanes[static_cast<std::size_t>(task.lane)];
    if (lane.rank != row.rank || lane.engine != row.engine) continue;
    if (i >= stuck_.circle && stuck_.circle > 0) continue;
    const std::string name = core::task_name(plot_.timeline().facts(), task);
    const double width = 8 + 7.0 * static_cast<double>(name.size());
    plot_.rect(x, y + 2, width, kSvgRowHeight - 4, "class=\"stuck\"");
    plot_.text(x + width / 2, y + 15, name, "class=\"circle\" text-anchor=\"middle\"");
    places_[i] = {x + width / 2, y + kSvgRowHeight / 2, width / 2};
    x += width + 12;
  }
}

void StuckSvg::draw_arrows() {
  const std::size_t circle = stuck_.circle;
  for (std::size_t i = 0; i < circle; ++i) {
    const auto from = places_.find(i);
    const auto to = places_.find((i + 1) % circle);
    if (from == places_.end() || to == places_.end()) continue;
    const Place& a = from->second;
    const Place& b = to->second;
    if (a.y == b.y) {  // above the row
      const double side = a.x < b.x ? 1 : -1;
      fmt::format_to(std::back_inserter(plot_.out()),
                     "<path class=\"wait\" d=\"M{:.6g} {:.6g}Q{:.6g} {:.6g} {:.6g} {:.6g}\"/>\n",
                     a.x, a.y - 9 * side, (a.x + b.x) / 2, a.y - 22 * side, b.x, b.y - 9 * side);
      continue;
    }
    // Down on the right, up on the left, so that both ways are seen.
    const double side = a.y < b.y ? 1 : -1;
    const double x1 = a.x + side * a.half;
    const double x2 = b.x + side * b.half;
    const double bend = side > 0 ? std::max(x1, x2) + 26 : std::min(x1, x2) - 26;
    fmt::format_to(std::back_inserter(plot_.out()),
                   "<path class=\"wait\" d=\"M{:.6g} {:.6g}C{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} "
                   "{:.6g}\"/>\n",
                   x1, a.y, bend, a.y, bend, b.y, x2, b.y);
  }
}

double StuckSvg::draw_waits(double y) {
  for (std::size_t i = 0; i < stuck_.waits.size() && i < kMostWaits; ++i) {
    const Wait& wait = stuck_.waits[i];
    const std::string name = core::task_name(plot_.timeline().facts(), wait.task);
    plot_.text(plot_.left(), y + 12, fmt::format("{} waits for {}", name, wait.text),
               i < stuck_.circle ? "class=\"circle\"" : "class=\"small\"");
    y += 14;
  }
  return y;
}

}  // namespace ripeline::view
