// Finds cells whose moves let all rows end. In each cycle of waits, a cell must move, so the cells
// of one cycle are tried, each with one move less for the rest; first with one move in total, then
// two, and so on. After each success, cells are put back where the fewest activations are held.
//
// If the steps do not suffice, the result has the moves of make_loadable(), without unneeded
// ones.
#include "pytorch/fewest_moves.h"

#include <algorithm>
#include <map>
#include <optional>

#include "pytorch/move_cells.h"
#include "pytorch/placing.h"
#include "spec/indexing.h"

namespace ripeline::pytorch {
namespace {

constexpr std::int64_t kMostSteps = 30'000'000;    // steps of the whole search
constexpr std::int64_t kMostLeftOut = 60'000'000;  // steps for omitting unneeded moves

constexpr int kMoreToFit = 3;

using Fits = std::function<bool(const RowPeak&)>;

struct Moved {
  std::vector<int> cells;
  PlacedRows placed;
};

class MoveSearch {
 public:
  MoveSearch(const MoveCells& cells, const Fits& fits)
      : progress_(cells), placing_(cells, fits, steps_, kMostSteps), kept_(cells.cells.size(), 0) {}

  // The best choice with the fewest cells; `enough` cells are known to suffice. If no such choice
  // fits, up to kMoreToFit more moves are tried. nullopt if none was found within the steps.
  std::optional<Moved> run(int enough) {
    for (int moves = 1; moves <= enough + kMoreToFit && steps_ <= kMostSteps; ++moves) {
      explore(moves);
      if (best_ && best_->placed.fits) break;
    }
    return std::move(best_);
  }
  // True if the best choice is known to have the fewest moves: as few as the first choice or one
  // more, since all choices as small as the first were tried. Larger ones are tried only in part.
  bool is_fewest() const {
    return best_moves_ == first_moves_ || (best_moves_ == first_moves_ + 1 && steps_ <= kMostSteps);
  }

 private:
  void explore(int left) {
    if (steps_ > kMostSteps || is_ideal()) return;
    const RowProgress::Mark mark = progress_.mark();
    progress_.advance(steps_);
    if (progress_.ended()) {
      if (left == 0) consider();
    } else if (left > 0) {
      branch(left);
    }
    progress_.go_back(mark);
  }

  // Tries each cell of the cycle as the one that moves; the cells tried before it stay in place.
  void branch(int left) {
    std::vector<int> tried;
    for (const int cell : progress_.cycle()) {
      if (at(kept_, cell) != 0) continue;
      const RowProgress::Mark mark = progress_.mark();
      progress_.take_out(cell);
      taken_.push_back(cell);
      explore(left - 1);
      taken_.pop_back();
      progress_.put_back(cell);
      progress_.go_back(mark);
      at(kept_, cell) = 1;
      tried.push_back(cell);
    }
    for (const int cell : tried) at(kept_, cell) = 0;
  }

  // A choice with more moves than the best one is taken only if it fits and the best does not.
  void consider() {
    PlacedRows placed = placing_.best(taken_);
    if (!best_) first_moves_ = taken_.size();
    const bool more = best_ && taken_.size() > best_->cells.size();
    if (best_ && (!placed.better_than(best_->placed) || (more && !placed.fits))) return;
    best_moves_ = taken_.size();
    best_ = Moved{taken_, std::move(placed)};
  }

  bool is_ideal() const { return best_ && best_->placed.fits && best_->placed.more == 0; }

  std::int64_t steps_ = 0;
  RowProgress progress_;
  Placing placing_;
  std::vector<char> kept_;  // per cell: tried before, so it is not moved
  std::vector<int> taken_;
  std::optional<Moved> best_;
  std::size_t best_moves_ = 0;
  std::size_t first_moves_ = 0;  // the number of moves of the first choice
};

// The cells that make_loadable() moved, without those that need not move.
std::vector<int> needed_moves(const MoveCells& cells, const std::vector<Move>& moves) {
  std::vector<int> moved;
  for (const Move& move : moves) {
    for (const int id : at(cells.rows, move.row - 1)) {
      if (*at(cells.cells, id) == move.cell) moved.push_back(id);
    }
  }
  std::sort(moved.begin(), moved.end());
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
  std::int64_t steps = 0;
  for (std::size_t i = moved.size(); i-- > 0 && steps <= kMostLeftOut;) {
    RowProgress progress(cells);
    for (std::size_t j = 0; j < moved.size(); ++j) {
      if (j != i) progress.take_out(moved[j]);
    }
    progress.advance(steps);
    if (progress.ended()) moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return moved;
}

MovedOrder order_of(const MoveCells& cells, Moved moved, bool fewest) {
  MovedOrder order;
  order.fewest = fewest;
  std::vector<int> place(cells.cells.size(), 0);
  for (const auto& row : moved.placed.rows) {
    auto& made = order.table.rows.emplace_back();
    for (int i = 0; i < size_of(row); ++i) {
      made.push_back(*at(cells.cells, at(row, i)));
      at(place, at(row, i)) = i;
    }
  }
  std::sort(moved.cells.begin(), moved.cells.end());
  for (const int cell : moved.cells) {
    order.moves.push_back({.cell = *at(cells.cells, cell),
                           .row = at(cells.row_of, cell) + 1,
                           .from = at(cells.place_of, cell) + 1,
                           .to = at(place, cell) + 1});
  }
  return order;
}

}  // namespace

RowPeak peak_of(const std::vector<const ActionCell*>& row) {
  RowPeak peak;
  std::int64_t held = 0;
  std::map<int, std::int64_t> of_stage;
  for (const ActionCell* cell : row) {
    for (const Action& action : cell->actions) {
      if (action.kind == ActionKind::forward) {
        peak.all = std::max(peak.all, ++held);
        peak.stage = std::max(peak.stage, ++of_stage[action.stage]);
      } else if (action.kind == ActionKind::backward ||
                 action.kind == ActionKind::backward_weight) {
        --held;
        --of_stage[action.stage];
      }
    }
  }
  return peak;
}

MovedOrder with_fewest_moves(const ActionTable& table, const StageMap& map, const Fits& fits) {
  const LoadableOrder loadable = make_loadable(table, map);
  if (!loadable.stuck.empty() || loadable.moves.empty()) {
    return {.table = loadable.table, .moves = {}, .stuck = loadable.stuck, .fewest = true};
  }
  const MoveCells cells = move_cells(table, map);
  std::vector<int> needed = needed_moves(cells, loadable.moves);
  MoveSearch search(cells, fits);
  auto found = search.run(size_of(needed));
  if (found) return order_of(cells, std::move(*found), search.is_fewest());
  std::int64_t steps = 0;
  PlacedRows placed = Placing(cells, fits, steps, -1).best(needed);
  return order_of(cells, {std::move(needed), std::move(placed)}, false);
}

}  // namespace ripeline::pytorch
