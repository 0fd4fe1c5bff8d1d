// Timeline: the tasks of a trace by engine and time, in the order in which they are drawn.
//
// Tasks are boxes in rows (view/rows.h). All other code in view/ reads only this, so that pictures
// of simulated, emulated and trained runs are made by the same code.
//
//   trace::File file = trace::read("run.json").value();
//   Timeline timeline;
//   const core::Status status = Timeline::make(std::move(file), timeline);
//
// make() fails if a task runs twice, or if two tasks that are not a pair overlap on an engine.
// Immutable once made; may be shared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/facts.h"
#include "core/status.h"
#include "trace/read.h"
#include "view/rows.h"

namespace ripeline::view {

// A step of the run, from its first start to its last end.
struct StepSpan {
  std::int64_t number = 0;  // the number in the trace
  core::Time begin{0};
  core::Time end{0};
};

// The amount that a rank holds of a resource from `at` on.
struct Level {
  core::Time at{0};
  std::int64_t held = 0;
};

class Timeline {
 public:
  Timeline() = default;
  static core::Status make(trace::File file, Timeline& timeline);

  [[nodiscard]] const core::ProgramFacts& facts() const { return about_.facts(); }
  [[nodiscard]] const trace::RunInfo& run() const { return about_.run; }

  // These are as in Rows.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_.rows(); }
  [[nodiscard]] const std::vector<Box>& boxes() const { return rows_.boxes(); }
  [[nodiscard]] const Box& box(int id) const { return rows_.box(id); }
  [[nodiscard]] std::span<const Box> boxes_of(const Row& row) const { return rows_.boxes_of(row); }
  [[nodiscard]] const Row& row_of(int box) const { return rows_.row_of(box); }
  [[nodiscard]] std::span<const Row> rows_of_engine(const Row& row) const {
    return rows_.rows_of_engine(row);
  }
  [[nodiscard]] BoxSpan beside(int box) const { return rows_.beside(box); }
  [[nodiscard]] int before(int box) const { return rows_.before(box, facts()); }
  [[nodiscard]] int last_ended(int box) const { return rows_.last_ended(box); }
  [[nodiscard]] int last_ended(int box, const Row& row) const { return rows_.last_ended(box, row); }
  [[nodiscard]] core::Time idle_before(int box) const { return rows_.idle_before(box); }
  [[nodiscard]] core::Time busy(const Row& row, core::Time from, core::Time to) const {
    return rows_.busy(row, from, to);
  }

  // The box of the task; -1 if it did not run.
  [[nodiscard]] int find(std::int64_t step, core::Task task) const;
  // The event of the message; null if it did not arrive.
  [[nodiscard]] const trace::MessageEvent* find(std::int64_t step, core::Message message) const;
  [[nodiscard]] const std::vector<trace::MessageEvent>& messages() const {
    return record_.messages;
  }
  // The idle intervals of the row's engine, by start: the recorded ones or, if there are none, all
  // time without a task between two tasks of one step, with an unknown cause.
  [[nodiscard]] std::span<const trace::IdleEvent> idle_of(const Row& row) const;

  // The first start and the last end; both 0 if nothing ran.
  [[nodiscard]] core::Time begin() const { return begin_; }
  [[nodiscard]] core::Time end() const { return end_; }
  [[nodiscard]] std::int64_t first_step() const { return first_step_; }
  [[nodiscard]] std::int64_t last_step() const { return first_step_ + steps_ - 1; }

  // The steps in which any task ran, ascending. They overlap if a rank is ahead of others.
  [[nodiscard]] std::vector<StepSpan> steps() const;

  // The names of the resources, each once, in the order of declaration.
  [[nodiscard]] std::vector<std::string_view> resources() const;
  [[nodiscard]] std::string_view unit_of(std::string_view resource) const;
  // The levels of all pools of the resource on the rank together, beginning with the initial
  // amount. If several have equal times, the last counts.
  [[nodiscard]] std::vector<Level> levels(std::string_view resource, int rank) const;
  [[nodiscard]] std::int64_t peak(std::string_view resource, int rank) const;
  // The sum of the capacities of the resource's pools on the rank; nullopt if one is unbounded.
  [[nodiscard]] std::optional<std::int64_t> capacity(std::string_view resource, int rank) const;

  [[nodiscard]] std::span<const core::UseFacts> uses_of(core::LaneId lane) const;
  // A duration, such as the time since begin(), in the trace's unit.
  [[nodiscard]] double in_unit(core::Time duration) const;

 private:
  core::Status index_boxes();
  core::Status index_messages();
  void sort_idle();
  void index_uses();
  [[nodiscard]] std::size_t task_slot(std::int64_t step, core::Task task) const;

  trace::About about_;
  trace::Record record_;  // the tasks have moved to rows_
  Rows rows_;
  std::vector<int> box_of_;              // by step, lane, microbatch; -1 if it did not run
  std::vector<int> message_of_;          // by step, edge, microbatch; -1 if it did not arrive
  std::vector<std::size_t> first_use_;   // per lane, and a last one for the end
  std::vector<trace::IdleEvent> idle_;   // by row
  std::vector<std::size_t> first_idle_;  // per row, and a last one for the end
  std::int64_t first_step_ = 0;
  std::int64_t steps_ = 1;
  core::Time begin_{0};
  core::Time end_{0};
};

// The task with this name, such as 2F0; nullopt if the program has no such task.
[[nodiscard]] std::optional<core::Task> task_named(const Timeline& timeline, std::string_view text);
// The names of the tasks that ran while `box` ran, such as `1B0 1B1`; empty if there are none.
[[nodiscard]] std::string names_beside(const Timeline& timeline, int box);
// A duration in the trace's unit, with at most six digits, such as 12 or 0.25.
[[nodiscard]] std::string text_of(const Timeline& timeline, core::Time duration);
// The same for a moment, counted from the timeline's begin().
[[nodiscard]] std::string moment_text(const Timeline& timeline, core::Time time);
// The name of a box's task, such as 2F0.
[[nodiscard]] std::string box_name(const Timeline& timeline, int box);

}  // namespace ripeline::view
