// Rows: the boxes of a timeline, in the order in which they are drawn.
//
// A row is an engine of a rank that the program uses; its boxes are its tasks by start. Where tasks
// ran at once, a second row of the engine comes after it, of those that started while another ran:
// the boxes of a row do not overlap, and their starts and ends come in one order. Ids of boxes and
// rows are indices. Immutable once made; a Row that is passed in is one of rows().
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
  int first = 0;  // its boxes: first .. end - 1
  int end = 0;
  bool second = false;
};

// Boxes first .. end - 1.
struct BoxSpan {
  int first = 0;
  int end = 0;
  [[nodiscard]] bool empty() const { return first >= end; }
};

class Rows {
 public:
  Rows() = default;
  // Fails by status: tasks at once on an engine that are no pair.
  static core::Status make(const core::ProgramFacts& facts, std::vector<Box> boxes, Rows& rows);

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<Box>& boxes() const { return boxes_; }
  [[nodiscard]] const Box& box(int id) const { return boxes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::span<const Box> boxes_of(const Row& row) const {
    return std::span(boxes_).subspan(static_cast<std::size_t>(row.first),
                                     static_cast<std::size_t>(row.end - row.first));
  }
  [[nodiscard]] const Row& row_of(int box) const;
  // The rows of its engine: one or two.
  [[nodiscard]] std::span<const Row> rows_of_engine(const Row& row) const;
  // Those of its engine's other row that ran while it ran.
  [[nodiscard]] BoxSpan beside(int box) const;
  // The last task that kept its engine from it, and ended before it starts: one that it is no pair
  // with, or one of two at once. -1: none did. The facts are those that it was made with.
  [[nodiscard]] int before(int box, const core::ProgramFacts& facts) const;
  // The last on its engine, or in a row of that, to end before it starts; -1: none did.
  [[nodiscard]] int last_ended(int box) const;
  [[nodiscard]] int last_ended(int box, const Row& row) const;
  // How long its engine had run nothing when it starts; 0 for the first.
  [[nodiscard]] core::Time idle_before(int box) const;
  // How long within from .. to the row's engine ran something, be it one task or two.
  [[nodiscard]] core::Time busy(const Row& row, core::Time from, core::Time to) const;

 private:
  void add_rows(int rank, core::Engine engine, BoxSpan boxes, const std::vector<bool>& beside);
  [[nodiscard]] core::Status check(const core::ProgramFacts& facts) const;
  [[nodiscard]] const Row* other_row(const Row& row) const;

  std::vector<Box> boxes_;
  std::vector<Row> rows_;
};

// `rank 2`, `rank 2 copy out`, `rank 2 beside`: its second row.
[[nodiscard]] std::string name_of(const Row& row);

}  // namespace ripeline::view
