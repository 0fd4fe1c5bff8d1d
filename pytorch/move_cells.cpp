#include "pytorch/move_cells.h"

#include <algorithm>

#include "pytorch/flat_map.h"
#include "spec/indexing.h"
#include "spec/long_work.h"

namespace ripeline::pytorch {
namespace {

constexpr int kMostStarts = 64;  // rows from which cycles are searched

MoveCells::Lists reversed(const MoveCells::Lists& lists) {
  MoveCells::Lists result;
  const auto cells = static_cast<int>(lists.first.size()) - 1;
  result.first.assign(lists.first.size(), 0);
  for (const int to : lists.items) ++result.first[MoveCells::Lists::index(to) + 1];
  for (std::size_t i = 1; i < result.first.size(); ++i) result.first[i] += result.first[i - 1];
  std::vector<std::uint32_t> next(result.first.begin(), result.first.end() - 1);
  result.items.resize(lists.items.size());
  for (int cell = 0; cell < cells; ++cell) {
    for (const int* to = lists.begin(cell); to != lists.end(cell); ++to) {
      result.items[next[MoveCells::Lists::index(*to)]++] = cell;
    }
  }
  return result;
}

}  // namespace

MoveCells move_cells(const ActionTable& table, const StageMap& map) {
  MoveCells result;
  FlatMap<int> producer;
  for (const auto& row : table.rows) {
    auto& ids = result.rows.emplace_back();
    for (const ActionCell& cell : row) {
      const int id = result.size();
      result.row_of.push_back(size_of(result.rows) - 1);
      result.place_of.push_back(size_of(ids));
      ids.push_back(id);
      result.cells.push_back(&cell);
      for (const Action& action : cell.actions) producer.emplace(key_of(result_of(action)), id);
    }
  }
  result.needs.first.push_back(0);
  for (const ActionCell* cell : result.cells) {
    for (const Action& action : cell->actions) {
      for (const Action& need : needs_of(action, map.stages())) {
        if (const int* id = producer.find(key_of(need))) result.needs.items.push_back(*id);
      }
    }
    result.needs.first.push_back(static_cast<std::uint32_t>(result.needs.items.size()));
  }
  result.feeds = reversed(result.needs);
  return result;
}

RowProgress::RowProgress(const MoveCells& cells)
    : cells_(cells),
      heads_(cells.rows.size(), 0),
      out_(cells.cells.size(), 0),
      done_(cells.cells.size(), 0),
      seen_(cells.cells.size(), -1) {}

void RowProgress::take_out(int cell) {
  at(out_, cell) = 1;
  loose_.push_back(cell);
}

void RowProgress::put_back(int cell) {
  at(out_, cell) = 0;
  loose_.pop_back();
}

bool RowProgress::may_run(int cell) const {
  return std::all_of(cells_.needs.begin(cell), cells_.needs.end(cell),
                     [this](int need) { return at(done_, need) != 0; });
}

// The next cell of the row that is not taken out; -1 if the row has ended.
int RowProgress::head(int row) {
  const auto& ids = at(cells_.rows, row);
  int& place = at(heads_, row);
  while (place < size_of(ids) && at(out_, at(ids, place)) != 0) ++place;
  return place < size_of(ids) ? at(ids, place) : -1;
}

int RowProgress::head_now(int row) const {
  const int place = at(heads_, row);
  return place < size_of(at(cells_.rows, row)) ? at(at(cells_.rows, row), place) : -1;
}

void RowProgress::run(int cell) {
  at(done_, cell) = 1;
  trail_.push_back(cell);
}

void RowProgress::advance(std::int64_t& steps) {
  for (bool progress = true; progress;) {
    spec::stop_point();
    const std::size_t before = trail_.size();
    for (int row = 0; row < size_of(heads_); ++row) {
      for (int cell = head(row); cell >= 0 && may_run(cell); cell = head(row)) {
        run(cell);
        ++at(heads_, row);
      }
    }
    for (const int cell : loose_) {
      if (at(done_, cell) == 0 && may_run(cell)) run(cell);
    }
    progress = trail_.size() > before;
    steps += size_of(heads_) + size_of(loose_) + static_cast<std::int64_t>(trail_.size() - before);
  }
}

void RowProgress::go_back(const Mark& mark) {
  for (; trail_.size() > mark.trail; trail_.pop_back()) at(done_, trail_.back()) = 0;
  heads_ = mark.heads;
}

// A cell waits for the first of its needs that has not ended. If this need is in a row but not its
// head, it waits for the head. So the path continues until it reaches a cell a second time.
std::vector<int> RowProgress::cycle_from(int row) {
  std::vector<int> path;
  std::vector<int> behind;         // cells behind a head, each followed by that head
  std::vector<std::size_t> first;  // per cell of the path: its index in `behind`
  int cell = head_now(row);
  while (at(seen_, cell) < 0) {
    at(seen_, cell) = size_of(path);
    path.push_back(cell);
    first.push_back(behind.size());
    const int* need = std::find_if(cells_.needs.begin(cell), cells_.needs.end(cell),
                                   [this](int n) { return at(done_, n) == 0; });
    if (need == cells_.needs.end(cell)) break;
    const bool loose = at(out_, *need) != 0;
    cell = loose ? *need : head_now(at(cells_.row_of, *need));
    if (!loose && cell != *need) behind.insert(behind.end(), {*need, cell});
  }
  const int again = at(seen_, cell);
  for (const int c : path) at(seen_, c) = -1;
  if (path.empty() || again < 0) return {};
  behind.erase(behind.begin(), behind.begin() + static_cast<std::ptrdiff_t>(at(first, again)));
  return behind;
}

std::vector<int> RowProgress::cycle() {
  std::vector<int> best;
  int starts = 0;
  for (int row = 0; row < size_of(heads_) && starts < kMostStarts; ++row) {
    if (head_now(row) < 0) continue;
    const std::vector<int> found = cycle_from(row);
    if (starts == 0 || found.size() < best.size()) best = found;
    ++starts;
  }
  std::sort(best.begin(), best.end());
  best.erase(std::unique(best.begin(), best.end()), best.end());
  return best;
}

}  // namespace ripeline::pytorch
