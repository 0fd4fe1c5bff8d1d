#include "view/svg_stuck.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/print.h"

namespace ripeline::view {
namespace {

constexpr double kPadding = 4;   // left and right of a task's name
constexpr double kTrack = 8;     // between tracks
constexpr double kChannel = 12;  // the width of a channel without tracks
constexpr double kAside = 3.5;   // from a task's middle to the point where an arrow meets it

// The height of an arrow's end as a number for comparisons, which grows from top to bottom: over
// the tasks of a row, above their middle, below their middle, then the next row.
int height_over(int row) { return 4 * row; }
int height_beside(int row, bool below) { return 4 * row + (below ? 2 : 1); }

}  // namespace

StuckLayout::StuckLayout(const Timeline& timeline, const Stuck& stuck, double most_width) {
  place(timeline, stuck);
  connect(stuck);
  if (width() > most_width) {
    cut(most_width);
    connect(stuck);
  }
}

// Places the tasks of the circle, or all if there is none, each in the next column of its row.
void StuckLayout::place(const Timeline& timeline, const Stuck& stuck) {
  std::map<int, int> used;
  const std::size_t count = stuck.circle > 0 ? stuck.circle : stuck.waits.size();
  for (std::size_t i = 0; i < count; ++i) {
    const core::Task task = stuck.waits[i].task;
    const core::LaneFacts& lane = timeline.facts().lanes[static_cast<std::size_t>(task.lane)];
    const auto row =
        std::find_if(timeline.rows().begin(), timeline.rows().end(),
                     [&](const Row& r) { return r.rank == lane.rank && r.engine == lane.engine; });
    const auto at = static_cast<int>(row - timeline.rows().begin());
    const int column = used[at]++;
    const double width =
        2 * kPadding + 1.1 * text_width(core::task_name(timeline.facts(), task), kSvgSmallFont);
    cells_[i] = {at, column, width};
    if (column >= static_cast<int>(columns_.size())) columns_.emplace_back();
    Column& its = columns_[static_cast<std::size_t>(column)];
    its.width = std::max(its.width, width);
  }
}

void StuckLayout::cut(double most_width) {
  while (!columns_.empty() && width() > most_width) columns_.pop_back();
  std::erase_if(cells_, [&](const auto& cell) {
    return cell.second.column >= static_cast<int>(columns_.size());
  });
}

void StuckLayout::connect(const Stuck& stuck) {
  arrows_.clear();
  for (std::size_t i = 0; i < stuck.circle; ++i) {
    const std::size_t next = (i + 1) % stuck.circle;
    if (next != i && cells_.count(i) > 0 && cells_.count(next) > 0) arrows_.push_back({i, next});
  }
  choose_ways();
  choose_tracks();
}

bool StuckLayout::is_beside(const Arrow& arrow) const {
  const int column = cells_.at(arrow.to).column;
  return column == arrow.channel || column == arrow.channel + 1;
}

// An arrow meets a task in the half that faces the arrow's other end, so that arrows of tasks in
// one column form a line. It avoids the half from which the task's arrow enters the same channel.
void StuckLayout::choose_ways() {
  std::map<std::size_t, const Arrow*> leaving;
  for (Arrow& arrow : arrows_) {
    const Cell& from = cells_[arrow.from];
    const Cell& to = cells_[arrow.to];
    leaving[arrow.from] = &arrow;
    if (from.row == to.row) continue;
    arrow.channel = to.column < from.column ? from.column - 1 : from.column;
    arrow.leaves_below = to.row > from.row;
    arrow.arrives_below = to.row < from.row;
  }
  for (Arrow& arrow : arrows_) {
    const auto next = leaving.find(arrow.to);
    if (arrow.channel < 0 || next == leaving.end() || next->second->channel != arrow.channel) {
      continue;
    }
    if (is_beside(arrow)) arrow.arrives_below = !next->second->leaves_below;
  }
}

// Short arrows are on the tracks nearest to the tasks.
void StuckLayout::choose_tracks() {
  struct Span {
    int from;
    int to;
    Arrow* arrow;
    [[nodiscard]] int length() const { return to - from; }
  };
  std::vector<std::vector<Span>> channels(columns_.size());
  for (Arrow& arrow : arrows_) {
    if (arrow.channel < 0) continue;
    const int to = cells_[arrow.to].row;
    const int start = height_beside(cells_[arrow.from].row, arrow.leaves_below);
    const int end = is_beside(arrow) ? height_beside(to, arrow.arrives_below) : height_over(to);
    channels[static_cast<std::size_t>(arrow.channel)].push_back(
        {std::min(start, end), std::max(start, end), &arrow});
  }
  for (std::size_t c = 0; c < channels.size(); ++c) {
    std::vector<Span>& spans = channels[c];
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Span& a, const Span& b) { return a.length() < b.length(); });
    std::vector<std::vector<Span>> tracks;
    for (const Span& span : spans) {
      const auto is_free = [&](const std::vector<Span>& track) {
        return std::none_of(track.begin(), track.end(), [&](const Span& other) {
          return span.from <= other.to && other.from <= span.to;
        });
      };
      auto track = std::find_if(tracks.begin(), tracks.end(), is_free);
      if (track == tracks.end()) track = tracks.emplace(track);
      track->push_back(span);
      span.arrow->track = static_cast<int>(track - tracks.begin());
    }
    columns_[c].tracks = static_cast<int>(tracks.size());
  }
}

double StuckLayout::channel(const Column& column) { return kChannel + kTrack * column.tracks; }

double StuckLayout::x_of(int column) const {
  double x = 0;
  for (int c = 0; c < column; ++c) {
    const Column& its = columns_[static_cast<std::size_t>(c)];
    x += its.width + channel(its);
  }
  return x;
}

double StuckLayout::x_of_track(int column, int track) const {
  return x_of(column) + columns_[static_cast<std::size_t>(column)].width + kTrack * (track + 1);
}

double StuckLayout::width() const { return x_of(static_cast<int>(columns_.size())); }

void StuckSvg::draw_beside(const Row& row, double y) {
  const auto at = static_cast<int>(&row - plot_.timeline().rows().data());
  for (const auto& [wait, cell] : layout_.cells()) {
    if (cell.row != at) continue;
    const double x = left_ + layout_.x_of(cell.column);
    const Box box{x, x + cell.width, y + inset(), y + plot_.heights().row - inset()};
    plot_.rect(x, box.top, cell.width, box.bottom - box.top, "class=\"stuck\"");
    plot_.text(box.x(), box.y() + 4,
               core::task_name(plot_.timeline().facts(), stuck_.waits[wait].task),
               "class=\"circle\" text-anchor=\"middle\"");
    boxes_[wait] = box;
  }
}

double StuckSvg::inset() const { return plot_.heights().row > 16 ? 2 : 1; }

void StuckSvg::draw_arrows() {
  for (const StuckLayout::Arrow& arrow : layout_.arrows()) {
    if (boxes_.count(arrow.from) == 0 || boxes_.count(arrow.to) == 0) continue;
    plot_.out() += fmt::format("<path class=\"wait\" d=\"{}\"/>\n", path(arrow));
  }
}

std::string StuckSvg::path(const StuckLayout::Arrow& arrow) const {
  const Box& a = boxes_.at(arrow.from);
  const Box& b = boxes_.at(arrow.to);
  const double room = 2 + 2 * inset();  // the space between tasks of two engines of a rank
  if (arrow.channel < 0) {
    const bool right = a.x() < b.x();
    const double side = right ? 1 : -1;  // it leaves on the side of its target
    const double edge = right ? a.top : a.bottom;
    return fmt::format("M{:.6g} {:.6g}V{:.6g}H{:.6g}V{:.6g}", a.x() + side * kAside, edge,
                       edge - side * room / 2, b.x() - side * kAside, edge);
  }
  const int to = layout_.cells().at(arrow.to).column;
  const bool leaves_right = layout_.cells().at(arrow.from).column == arrow.channel;
  const auto y_of = [](const Box& box, bool below) { return box.y() + (below ? kAside : -kAside); };
  const std::string start = fmt::format("M{:.6g} {:.6g}H{:.6g}", leaves_right ? a.right : a.left,
                                        y_of(a, arrow.leaves_below),
                                        left_ + layout_.x_of_track(arrow.channel, arrow.track));
  if (to == arrow.channel || to == arrow.channel + 1) {
    return start + fmt::format("V{:.6g}H{:.6g}", y_of(b, arrow.arrives_below),
                               to == arrow.channel ? b.right : b.left);
  }
  return start + fmt::format("V{:.6g}H{:.6g}V{:.6g}", b.top - (room - 1), b.x(), b.top);
}

double StuckSvg::draw_waits(double width, double y) {
  const auto line = [&](const std::string& text, const char* style) {
    plot_.text(8, y + 12, fitted(text, kSvgSmallFont * 1.1, width - 16), style);
    y += 14;
  };
  for (std::size_t i = 0; i < stuck_.waits.size() && i < kMostWaits; ++i) {
    const StuckTask& wait = stuck_.waits[i];
    const std::string name = core::task_name(plot_.timeline().facts(), wait.task);
    line(fmt::format("{} waits for {}", name, wait.text),
         i < stuck_.circle ? "class=\"circle\"" : "class=\"small\"");
  }
  if (stuck_.waits.size() > kMostWaits) {
    line(fmt::format("and {} more", stuck_.waits.size() - kMostWaits), "class=\"small\"");
  }
  return y;
}

}  // namespace ripeline::view
