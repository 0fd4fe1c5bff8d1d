// The places at which cells that were taken out of their rows are put back, for
// with_fewest_moves(); not used elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pytorch/fewest_moves.h"
#include "pytorch/move_cells.h"

namespace ripeline::pytorch {

struct PlacedRows {
  std::vector<std::vector<int>> rows;
  bool fits = false;      // the peak of each row with a cell put back is allowed
  std::int64_t more = 0;  // the additional activations held, summed over the rows
  [[nodiscard]] bool better_than(const PlacedRows& other) const {
    return fits != other.fits ? fits : more < other.more;
  }
};

class Placing {
 public:
  // `steps` is shared with the search; work done here is added to it. Once `steps` exceeds `limit`,
  // the first rows that are found are the result.
  Placing(const MoveCells& cells, const std::function<bool(const RowPeak&)>& fits,
          std::int64_t& steps, std::int64_t limit)
      : cells_(cells), fits_(fits), steps_(steps), limit_(limit), place_(cells.place_of) {}

  // The best rows in which the cells `taken` are moved. Without these cells all rows must be able
  // to end, so that each cell has a place.
  [[nodiscard]] PlacedRows best(const std::vector<int>& taken);

 private:
  struct Interval {
    int first;  // the places at which the cell may be put into its present row
    int last;
  };
  Interval interval_of(int cell);
  std::vector<int> places_for(int cell, bool is_last);
  int reached(int cell, bool forward);
  void put(std::size_t i);
  void evaluate();
  void insert(int cell, int place);
  void erase(int cell);

  const MoveCells& cells_;
  const std::function<bool(const RowPeak&)>& fits_;
  std::int64_t& steps_;
  std::int64_t limit_;
  std::vector<std::vector<int>> rows_;
  std::vector<int> place_;  // per cell: its index in its row of rows_, or -1
  std::vector<int> taken_;
  PlacedRows best_;
};

}  // namespace ripeline::pytorch
