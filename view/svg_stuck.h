// A stuck run in an SVG: the tasks that did not start, dashed, at the end of their rows; an arrow
// from each task of the circle to the task that it waits for; and the waits in words.
//
// No arrow crosses a task. The tasks of a row are in columns, and to the right of each column is a
// channel. An arrow leaves its task into the channel on the side of its target and goes up or down
// there, on a track that no other arrow uses at that height. It enters its target from that channel
// or, if it is not beside the target, from above, along the free space over the row. An arrow
// within a row arches over the row if it points right, and under the row if it points left.
//
// Private to the SVG.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "view/stuck.h"
#include "view/svg_plot.h"

namespace ripeline::view {

// The columns and tracks of tasks and arrows, before their rows have a y in the picture.
class StuckLayout {
 public:
  struct Cell {
    int row = 0;  // an index into the timeline's rows
    int column = 0;
    double width = 0;
  };
  struct Arrow {
    std::size_t from = 0;  // an index into the waits
    std::size_t to = 0;
    int channel = -1;  // the one right of this column; -1 if the arrow stays in its row
    int track = 0;
    // Whether the arrow leaves its task, or meets its target, below the middle of the side.
    bool leaves_below = false;
    bool arrives_below = false;
  };

  // Lays out as many columns as fit; other waits are shown in words only.
  StuckLayout(const Timeline& timeline, const Stuck& stuck, double most_width);

  [[nodiscard]] double width() const;  // 0 if there is nothing to draw
  [[nodiscard]] const std::map<std::size_t, Cell>& cells() const { return cells_; }  // by wait
  [[nodiscard]] const std::vector<Arrow>& arrows() const { return arrows_; }
  // Both values count from the left of the layout.
  [[nodiscard]] double x_of(int column) const;
  [[nodiscard]] double x_of_track(int column, int track) const;

 private:
  struct Column {
    double width = 0;  // the width of its widest task
    int tracks = 0;
  };
  void place(const Timeline& timeline, const Stuck& stuck);
  void cut(double most_width);
  void connect(const Stuck& stuck);
  void choose_ways();
  void choose_tracks();
  [[nodiscard]] bool is_beside(const Arrow& arrow) const;
  [[nodiscard]] static double channel(const Column& column);

  std::vector<Column> columns_;
  std::map<std::size_t, Cell> cells_;
  std::vector<Arrow> arrows_;
};

class StuckSvg {
 public:
  // All arguments must outlive this object. The tasks are drawn from `left` on.
  StuckSvg(SvgPlot& plot, const Stuck& stuck, const StuckLayout& layout, double left)
      : plot_(plot), stuck_(stuck), layout_(layout), left_(left) {}

  // Draws the tasks beside the engine of `row`, which is drawn from `y` on.
  void draw_beside(const Row& row, double y);
  // Draws the arrows between the tasks that are drawn already.
  void draw_arrows();
  // Draws the waits in words from `y` on, in lines up to `width`; returns the y at which they end.
  double draw_waits(double width, double y);

 private:
  struct Box {
    double left = 0;
    double right = 0;
    double top = 0;
    double bottom = 0;
    [[nodiscard]] double x() const { return (left + right) / 2; }
    [[nodiscard]] double y() const { return (top + bottom) / 2; }
  };
  [[nodiscard]] std::string path(const StuckLayout::Arrow& arrow) const;
  // The space between a task and its row's edge, above and below.
  [[nodiscard]] double inset() const;

  SvgPlot& plot_;
  const Stuck& stuck_;
  const StuckLayout& layout_;
  double left_;
  std::map<std::size_t, Box> boxes_;  // by wait
};

}  // namespace ripeline::view
