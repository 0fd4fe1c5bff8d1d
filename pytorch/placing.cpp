// A cell may be placed behind the last cell of its row that it needs, directly or not, and before
// the first that needs it; at any such place all rows can end. So cells are put back one by one,
// and all their places are tried. Wherever the other cells are, the row holds the fewest
// activations if an F is as late as possible and a B or W as early as possible. So these places are
// tried first, and the cell that is put back last is tried at no other place.
#include "pytorch/placing.h"

#include <algorithm>
#include <cstdlib>

#include "spec/indexing.h"
#include "spec/long_work.h"

namespace ripeline::pytorch {

PlacedRows Placing::best(const std::vector<int>& taken) {
  taken_ = taken;
  rows_ = cells_.rows;
  best_ = {};
  for (const int cell : taken) {
    std::erase(at(rows_, at(cells_.row_of, cell)), cell);
    at(place_, cell) = -1;
  }
  for (const int cell : taken) {
    const auto& row = at(rows_, at(cells_.row_of, cell));
    for (int i = 0; i < size_of(row); ++i) at(place_, at(row, i)) = i;
  }
  put(0);
  for (const int cell : taken) {
    const auto& row = at(cells_.rows, at(cells_.row_of, cell));
    for (int i = 0; i < size_of(row); ++i) at(place_, at(row, i)) = i;
  }
  return std::move(best_);
}

void Placing::put(std::size_t i) {
  if (i == taken_.size()) return evaluate();
  const int cell = taken_[i];
  for (const int place : places_for(cell, i + 1 == taken_.size())) {
    insert(cell, place);
    put(i + 1);
    erase(cell);
    const bool ideal = best_.fits && best_.more == 0;
    if (!best_.rows.empty() && (ideal || steps_ > limit_)) return;
    spec::stop_point();
  }
}

void Placing::insert(int cell, int place) {
  auto& row = at(rows_, at(cells_.row_of, cell));
  row.insert(row.begin() + place, cell);
  for (int i = place; i < size_of(row); ++i) at(place_, at(row, i)) = i;
  steps_ += size_of(row);
}

void Placing::erase(int cell) {
  auto& row = at(rows_, at(cells_.row_of, cell));
  const int place = at(place_, cell);
  row.erase(row.begin() + place);
  at(place_, cell) = -1;
  for (int i = place; i < size_of(row); ++i) at(place_, at(row, i)) = i;
}

// How many cells of its row must run before the cell; if `forward`, how many must run after it.
int Placing::reached(int cell, bool forward) {
  std::vector<int> count(rows_.size(), 0);  // per row: cells from the front, or from the end
  std::vector<int> open = {cell};
  std::vector<int> loose = {cell};  // the reached cells that are in no row
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    const MoveCells::Lists& lists = forward ? cells_.feeds : cells_.needs;
    for (const int* other = lists.begin(next); other != lists.end(next); ++other) {
      ++steps_;
      const int place = at(place_, *other);
      if (place < 0) {
        if (std::find(loose.begin(), loose.end(), *other) != loose.end()) continue;
        loose.push_back(*other);
        open.push_back(*other);
        continue;
      }
      const auto& row = at(rows_, at(cells_.row_of, *other));
      int& from = at(count, at(cells_.row_of, *other));
      const int to = forward ? size_of(row) - place : place + 1;
      for (; from < to; ++from) open.push_back(at(row, forward ? size_of(row) - 1 - from : from));
    }
  }
  return at(count, at(cells_.row_of, cell));
}

Placing::Interval Placing::interval_of(int cell) {
  const int size = size_of(at(rows_, at(cells_.row_of, cell)));
  return {reached(cell, false), size - reached(cell, true)};
}

// The places at which the cell may be put, the best first.
std::vector<int> Placing::places_for(int cell, bool is_last) {
  const auto [first, last] = interval_of(cell);
  const auto& actions = at(cells_.cells, cell)->actions;
  std::vector<int> places;
  for (int p = first; p <= last; ++p) places.push_back(p);
  if (actions.size() > 1 || actions.front().kind == ActionKind::backward_input) {
    const int old = at(cells_.place_of, cell);
    std::stable_sort(places.begin(), places.end(),
                     [old](int a, int b) { return std::abs(a - old) < std::abs(b - old); });
  } else if (actions.front().kind == ActionKind::forward) {
    std::reverse(places.begin(), places.end());
  }
  if (is_last && actions.size() == 1) places.resize(1);
  return places;
}

void Placing::evaluate() {
  PlacedRows placed;
  placed.fits = true;
  std::vector<int> rows;
  for (const int cell : taken_) rows.push_back(at(cells_.row_of, cell));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const int r : rows) {
    const auto peak = [&](const std::vector<int>& row) {
      std::vector<const ActionCell*> cells;
      for (const int cell : row) cells.push_back(at(cells_.cells, cell));
      steps_ += size_of(row);
      return peak_of(cells);
    };
    const RowPeak now = peak(at(rows_, r));
    placed.fits = placed.fits && fits_(now);
    placed.more += std::max<std::int64_t>(0, now.all - peak(at(cells_.rows, r)).all);
  }
  if (!best_.rows.empty() && !placed.better_than(best_)) return;
  placed.rows = rows_;
  best_ = std::move(placed);
}

}  // namespace ripeline::pytorch
