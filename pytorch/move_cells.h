// The cells of a table as a graph, for the search of with_fewest_moves(); not used elsewhere.
//
// Cells are numbered row by row, in the order of the table. Values; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"

namespace ripeline::pytorch {

struct MoveCells {
  // A list of cells for each cell.
  struct Lists {
    std::vector<std::uint32_t> first;
    std::vector<int> items;
    [[nodiscard]] const int* begin(int cell) const { return items.data() + first[index(cell)]; }
    [[nodiscard]] const int* end(int cell) const { return items.data() + first[index(cell) + 1]; }
    static std::size_t index(int cell) { return static_cast<std::size_t>(cell); }
  };

  std::vector<const ActionCell*> cells;  // pointers into the table, which must outlive them
  std::vector<std::vector<int>> rows;
  std::vector<int> row_of;    // per cell
  std::vector<int> place_of;  // per cell: its index in its row, from 0
  Lists needs;                // cells that must have ended before the cell starts
  Lists feeds;                // the reverse of `needs`

  [[nodiscard]] int size() const { return static_cast<int>(cells.size()); }
};
// The graph of computations without blanks; all needs of a cell must occur in the table.
[[nodiscard]] MoveCells move_cells(const ActionTable& table, const StageMap& map);

// How far the rows can run, each in its order, if some cells are taken out of their rows and start
// as soon as they can.
class RowProgress {
 public:
  explicit RowProgress(const MoveCells& cells);

  void take_out(int cell);  // the cell must not have ended
  void put_back(int cell);  // must be the cell taken out last
  // Runs all cells that can run; adds the number of visited cells to `steps`.
  void advance(std::int64_t& steps);
  [[nodiscard]] bool ended() const { return trail_.size() == out_.size(); }

  // A state to which go_back() can return.
  struct Mark {
    std::size_t trail;
    std::vector<int> heads;
  };
  [[nodiscard]] Mark mark() const { return {trail_.size(), heads_}; }
  void go_back(const Mark& mark);

  // If not all cells have ended, the cells of a cycle of waits, one of which must be taken out to
  // break the cycle; empty if no cell breaks it.
  [[nodiscard]] std::vector<int> cycle();

 private:
  bool may_run(int cell) const;
  int head(int row);
  int head_now(int row) const;
  void run(int cell);
  std::vector<int> cycle_from(int row);

  const MoveCells& cells_;
  std::vector<int> heads_;  // per row: the index of its next cell
  std::vector<char> out_;   // per cell: taken out
  std::vector<char> done_;  // per cell
  std::vector<int> seen_;   // per cell: -1 except during cycle_from()
  std::vector<int> trail_;  // cells that have ended, in order
  std::vector<int> loose_;  // cells that are taken out
};

}  // namespace ripeline::pytorch
