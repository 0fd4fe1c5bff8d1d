// Where a run sticks, in an SVG: dashed, at the end of their rows, the tasks that did not start; an
// arrow from each task of the circle to what it waits for; and the waits in words.
//
// No arrow crosses a task. The tasks of a row stand in columns, and between two columns, as right
// of the last, is a channel. An arrow leaves its task into the channel on the side of its end and
// goes up or down there, on a track that no other arrow uses at that height. It enters its end from
// that channel, or else from above, along the free space over the row. Arrows within a row arch
// over it to the right and under it to the left.
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

// Which columns and tracks the tasks and arrows take; what they are in pixels is not known yet.
class StuckLayout {
 public:
  struct Cell {
    int row = 0;  // an index into the timeline's rows
    int column = 0;
    double width = 0;
  };
  struct Arrow {
    std::size_t from = 0;  // waits
    std::size_t to = 0;
    int channel = -1;  // right of this column; -1: it stays in its row
    int track = 0;
    // Where it leaves and meets the side of a task: below the middle, or above.
    bool leaves_below = false;
    bool arrives_below = false;
  };

  // As many columns as fit; the waits of the others are in words alone.
  StuckLayout(const Timeline& timeline, const Stuck& stuck, double most_width);

  [[nodiscard]] double width() const;  // 0: there is nothing to draw
  [[nodiscard]] const std::map<std::size_t, Cell>& cells() const { return cells_; }  // by wait
  [[nodiscard]] const std::vector<Arrow>& arrows() const { return arrows_; }
  // From the left of the layout.
  [[nodiscard]] double x_of(int column) const;
  [[nodiscard]] double x_of_track(int column, int track) const;

 private:
  struct Column {
    double width = 0;  // its widest task's
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
  // All must outlive it. From `left` on lie the tasks.
  StuckSvg(SvgPlot& plot, const Stuck& stuck, const StuckLayout& layout, double left)
      : plot_(plot), stuck_(stuck), layout_(layout), left_(left) {}

  // Beside the engine of `row`, which is drawn from `y` on.
  void draw_beside(const Row& row, double y);
  // Between the tasks that are drawn already.
  void draw_arrows();
  // From `y` on, in lines up to `width`; returns where it ends.
  double draw_waits(double width, double y);

 private:
  struct Place {
    double left = 0;
    double right = 0;
    double top = 0;
    double bottom = 0;
    [[nodiscard]] double x() const { return (left + right) / 2; }
    [[nodiscard]] double y() const { return (top + bottom) / 2; }
  };
  [[nodiscard]] std::string path(const StuckLayout::Arrow& arrow) const;
  // How much lower than its row a task is drawn, above and below.
  [[nodiscard]] double inset() const;

  SvgPlot& plot_;
  const Stuck& stuck_;
  const StuckLayout& layout_;
  double left_;
  std::map<std::size_t, Place> places_;  // by wait
};

}  // namespace ripeline::view
