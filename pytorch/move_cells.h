// The cells of a table as a graph, for the search of with_fewest_moves(); of no use outside it.
//
// Cells are numbered row by row, in the order of the table. Values; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"

namespace ripeline::verify {

struct MoveCells {
  // Per cell, a list of cells.
  struct Lists {
    std::vector<std::uint32_t> first;
    std::vector<int> items;
    [[nodiscard]] const int* begin(int cell) const { return items.data() + first[index(cell)]; }
    [[nodiscard]] const int* end(int cell) const { return items.data() + first[index(cell) + 1]; }
    static std::size_t index(int cell) { return static_cast<std::size_t>(cell); }
  };

  std::vector<const spec::ActionCell*> cells;  // the table's, which must outlive this
  std::vector<std::vector<int>> rows;
  std::vector<int> row_of;    // per cell
  std::vector<int> place_of;  // in its row, from 0
  Lists needs;                // cells that must have ended before the cell starts
  Lists feeds;                // the reverse

  [[nodiscard]] int size() const { return static_cast<int>(cells.size()); }
};
// The graph of computations without blanks, in which all that a cell needs occurs.
[[nodiscard]] MoveCells move_cells(const spec::ActionTable& table, const spec::StageMap& map);

// How far the rows come, each in its order, where some cells are taken out of their rows and start
// as soon as they may.
class RowProgress {
 public:
  explicit RowProgress(const MoveCells& cells);

  void take_out(int cell);  // the cell has not ended
  void put_back(int cell);  // the one that was taken out last
  // As far as it goes; adds the cells that it looked at to `steps`.
  void advance(std::int64_t& steps);
  [[nodiscard]] bool ended() const { return trail_.size() == out_.size(); }

  // Where it can be gone back to.
  struct Mark {
    std::size_t trail;
    std::vector<int> heads;
  };
  [[nodiscard]] Mark mark() const { return {trail_.size(), heads_}; }
  void go_back(const Mark& mark);

  // Where it has not ended: cells of a cycle of waits, of which one must be taken out for the cycle
  // to break. Empty: none breaks it.
  [[nodiscard]] std::vector<int> cycle();

 private:
  bool may_run(int cell) const;
  int head(int row);
  int head_now(int row) const;
  void run(int cell);
  std::vector<int> cycle_from(int row);

  const MoveCells& cells_;
  std::vector<int> heads_;  // per row: a place
  std::vector<char> out_;   // per cell: taken out
  std::vector<char> done_;  // per cell
  std::vector<int> seen_;   // per cell: -1 but during cycle_from()
  std::vector<int> trail_;  // cells that have ended, in order
  std::vector<int> loose_;  // cells that are taken out
};

}  // namespace ripeline::verify
