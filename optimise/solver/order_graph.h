// OrderGraph: a model's tasks for a solver, with the changes of their order that are allowed.
//
// Times are the model's times divided by a scale. If they are rounded down, no order is longer in
// the scaled problem, so its optimum is a bound for the model. If they are rounded to the nearest,
// they are close to the model's. If an order is given, only some tasks may be free. Free tasks that
// are adjacent in a machine's row form a block, in which they may change places; other tasks keep
// their positions. Without an order each row is a block. Arcs are the model's needs, the turns of
// each lane, and neighbours in a row whose positions are fixed. Immutable once made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimise/model.h"

namespace ripeline::optimise {

struct Scale {
  Time of_one = 1;  // > 0
  bool rounds_down = false;

  // The scaled time; at least 1 for a task that takes time, unless times are rounded down.
  [[nodiscard]] Time of_task(Time takes) const;
  [[nodiscard]] Time of_lag(Time lag) const;
};

class OrderGraph {
 public:
  // `after` starts no earlier than `lag` after the end of `before`.
  struct Arc {
    int before = 0;
    int after = 0;
    Time lag = 0;
  };
  struct Block {
    int machine = 0;
    int first_position = 0;       // its position in the row
    std::vector<int> tasks = {};  // in the order of the row; without rows, lane by lane
  };

  // If `rows` is null there is no order; an empty `is_free` means that all tasks are free. nullopt
  // if the rows are not an order of all tasks or lead to a deadlock.
  [[nodiscard]] static std::optional<OrderGraph> make(const Model& model, const Scale& scale,
                                                      const Rows* rows,
                                                      const std::vector<bool>& is_free);

  [[nodiscard]] int tasks() const { return static_cast<int>(takes_.size()); }
  [[nodiscard]] Time takes(int task) const { return takes_[static_cast<std::size_t>(task)]; }
  // The longest paths along the arcs: before the task, and after it.
  [[nodiscard]] Time head(int task) const { return heads_[static_cast<std::size_t>(task)]; }
  [[nodiscard]] Time tail(int task) const { return tails_[static_cast<std::size_t>(task)]; }
  // The earliest start of each task in the given order; empty if no order is given.
  [[nodiscard]] const std::vector<Time>& starts() const { return starts_; }
  [[nodiscard]] const std::vector<Arc>& arcs() const { return arcs_; }  // in topological order
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }
  // The block to which the task belongs; -1 if its position is fixed.
  [[nodiscard]] int block_of(int task) const { return block_of_[static_cast<std::size_t>(task)]; }
  [[nodiscard]] int position_of(int task) const {
    return positions_[static_cast<std::size_t>(task)];
  }
  // The task's index in a topological order: each task that it waits for has a lower index.
  [[nodiscard]] int rank_of(int task) const { return ranks_[static_cast<std::size_t>(task)]; }
  // is_after_free(): free, or needs a free task. is_before_free(): free, or needed by a free task.
  [[nodiscard]] bool is_after_free(int task) const {
    return after_free_[static_cast<std::size_t>(task)];
  }
  [[nodiscard]] bool is_before_free(int task) const {
    return before_free_[static_cast<std::size_t>(task)];
  }
  [[nodiscard]] bool has_whole_rows() const { return whole_; }   // all tasks are free
  [[nodiscard]] const Rows& task_rows() const { return rows_; }  // rows of tasks; may be empty

 private:
  bool read_rows(const Model& model, const Rows& rows);
  void make_blocks(const Model& model, const std::vector<bool>& is_free);
  void add_needs(const Model& model, const Scale& scale);
  void add_places(const Model& model);
  bool sort(std::vector<Arc>& arcs);
  void mark_free();

  std::vector<Time> takes_;
  std::vector<Arc> arcs_;
  std::vector<Time> heads_;
  std::vector<Time> tails_;
  std::vector<Time> starts_;
  Rows rows_;
  std::vector<Block> blocks_;
  std::vector<int> block_of_;
  std::vector<int> positions_;
  std::vector<int> ranks_;
  std::vector<bool> after_free_;
  std::vector<bool> before_free_;
  bool whole_ = true;
};

}  // namespace ripeline::optimise
