#include "tests/pytorch/dualpipe_v.h"

#include <map>
#include <queue>
#include <utility>

#include "pytorch/csv/actions.h"

namespace ripeline::testing_support {
namespace {

using pytorch::Action;
using pytorch::ActionKind;

// The row of one rank, by the steps that are numbered in PyTorch's comments.
class Row {
 public:
  Row(int rank, int ranks, int microbatches)
      : down_(rank), up_(2 * ranks - 1 - rank), rank_(rank), below_(ranks - 1 - rank) {
    for (int i = 0; i < 2 * below_; ++i) cell({forward(down_)});
    for (int i = 0; i <= rank; ++i) cell({forward(down_)}), cell({forward(up_)});
    for (int i = 0; i < below_; ++i) {
      cell({backward(up_, true)}), cell({weight()}), cell({forward(up_)});
    }
    overlap(microbatches - 2 * ranks + rank + 1);
    for (int i = 0; i < below_; ++i) cell({backward(up_, false)}), both(up_, down_);
    drain();
  }

  [[nodiscard]] std::vector<pytorch::ActionCell> cells() && { return std::move(cells_); }

 private:
  void overlap(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (i == 0 && below_ == 0) {
        cell({forward(down_)}), cell({backward(up_, false)});
      } else {
        both(down_, up_);
      }
      both(up_, down_);
    }
  }

  // The second half of the last backwards are split backwards; weight gradients follow.
  void drain() {
    bool split = false;
    for (int i = 0; i <= rank_; ++i) {
      const bool half = i == (rank_ + 1) / 2;
      split = split || (half && rank_ % 2 == 1);
      cell({backward(up_, split)});
      split = split || (half && rank_ % 2 == 0);
      cell({backward(down_, split)});
    }
    for (int i = 0; i < below_; ++i) cell({weight()}), cell({backward(down_, split)});
    while (!weights_.empty()) cell({weight()});
  }

  void cell(pytorch::ShortList<Action> actions) {
    const bool overlap = actions.size() > 1;
    cells_.push_back({.actions = std::move(actions), .overlap = overlap});
  }
  void both(int forwards, int backwards) {
    const Action first = forward(forwards);
    cell({first, backward(backwards, false)});
  }
  Action forward(int stage) { return {ActionKind::forward, stage, forwards_[stage]++}; }
  Action backward(int stage, bool split) {
    const int microbatch = backwards_[stage]++;
    if (split) weights_.push({ActionKind::backward_weight, stage, microbatch});
    return {split ? ActionKind::backward_input : ActionKind::backward, stage, microbatch};
  }
  Action weight() {
    const Action next = weights_.front();
    weights_.pop();
    return next;
  }

  int down_;
  int up_;
  int rank_;
  int below_;  // the number of ranks after this one
  std::map<int, int> forwards_;
  std::map<int, int> backwards_;
  std::queue<Action> weights_;
  std::vector<pytorch::ActionCell> cells_;
};

}  // namespace

std::string dualpipe_v(int ranks, int microbatches) {
  pytorch::ActionTable table;
  for (int rank = 0; rank < ranks; ++rank) {
    table.rows.push_back(Row(rank, ranks, microbatches).cells());
  }
  return pytorch::write_actions(table);
}

}  // namespace ripeline::testing_support
