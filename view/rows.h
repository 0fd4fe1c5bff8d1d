// Rows: the boxes of a timeline, in the order in which they are drawn.
//
// A row is an engine of a rank that the program uses; its boxes are the engine's tasks by start. If
// tasks ran at once, a second row of the engine follows, with the tasks that started while another
// ran. So boxes of a row do not overlap, and are in order by start and by end. Ids of boxes and
// rows are indices. Immutable once made; a Row that is passed in must be one of rows().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/status.h"
#include "trace/record.h"

namespace ripeline::view {

using Box = trace::TaskEvent;

struct Row {
  int rank = 0;
  core::Engine engine = core::Engine::compute;
  int first = 0;  // its boxes are first .. end - 1
  int end = 0;
  bool second = false;
};

// The boxes first .. end - 1.
struct BoxSpan {
  int first = 0;
  int end = 0;
  [[nodiscard]] bool empty() const { return first >= end; }
};

class Rows {
 public:
  Rows() = default;
  // Fails if two tasks that are not a pair overlap on one engine.
  static core::Status make(const core::ProgramFacts& facts, std::vector<Box> boxes, Rows& rows);

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<Box>& boxes() const { return boxes_; }
  [[nodiscard]] const Box& box(int id) const { return boxes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::span<const Box> boxes_of(const Row& row) const {
    return std::span(boxes_).subspan(static_cast<std::size_t>(row.first),
                                     static_cast<std::size_t>(row.end - row.first));
  }
  [[nodiscard]] const Row& row_of(int box) const;
  // The rows of the engine of `row`: one or two.
  [[nodiscard]] std::span<const Row> rows_of_engine(const Row& row) const;
  // The boxes in the engine's other row that ran while `box` ran.
  [[nodiscard]] BoxSpan beside(int box) const;
  // The last task that ended before `box` started and kept the engine from taking it: one that is
  // no pair with it, or one of two at once; -1 if none. `facts` must be those given to make().
  [[nodiscard]] int before(int box, const core::ProgramFacts& facts) const;
  // The last box to end before `box` starts, on its engine or in the given row; -1 if none.
  [[nodiscard]] int last_ended(int box) const;
  [[nodiscard]] int last_ended(int box, const Row& row) const;
  // How long the engine had been idle when `box` starts; 0 for the first box.
  [[nodiscard]] core::Time idle_before(int box) const;
  // How long, within from .. to, the row's engine was busy, with one task or two.
  [[nodiscard]] core::Time busy(const Row& row, core::Time from, core::Time to) const;

 private:
  void add_rows(int rank, core::Engine engine, BoxSpan boxes, const std::vector<bool>& beside);
  [[nodiscard]] core::Status check(const core::ProgramFacts& facts) const;
  [[nodiscard]] const Row* other_row(const Row& row) const;

  std::vector<Box> boxes_;
  std::vector<Row> rows_;
};

// The name of a row: `rank 2`, `rank 2 copy out`, or for an engine's second row `rank 2 beside`.
[[nodiscard]] std::string name_of(const Row& row);

}  // namespace ripeline::view
