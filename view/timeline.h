// Timeline: a trace as what ran where and when, in the order in which it is drawn.
//
// Its tasks are boxes in rows (view/rows.h). Everything else in view/ reads this, and nothing but
// this: pictures of a simulated, an emulated and a trained run are made by the same code.
//
//   trace::File file;  trace::read("run.json", file);
//   Timeline timeline;
//   const core::Status status = Timeline::make(std::move(file), timeline);
//
// Fails by status: tasks that run twice, or at once on an engine and are no pair. Immutable once
// made; shared freely.
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
  std::int64_t number = 0;  // as the trace has it
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
  [[nodiscard]] const trace::Run& run() const { return about_.run; }

  // As of Rows.
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

  // -1: it did not run.
  [[nodiscard]] int find(std::int64_t step, core::Task task) const;
  // nullptr: it did not arrive.
  [[nodiscard]] const trace::MessageEvent* find(std::int64_t step, core::Message message) const;
  [[nodiscard]] const std::vector<trace::MessageEvent>& messages() const {
    return record_.messages;
  }
  // The idle intervals of the row's engine, by start; as recorded, or else all the time that it
  // runs nothing between two tasks of one step, its cause unknown.
  [[nodiscard]] std::span<const trace::IdleEvent> idle_of(const Row& row) const;

  // The first start and the last end; both 0 if nothing ran.
  [[nodiscard]] core::Time begin() const { return begin_; }
  [[nodiscard]] core::Time end() const { return end_; }
  [[nodiscard]] std::int64_t first_step() const { return first_step_; }
  [[nodiscard]] std::int64_t last_step() const { return first_step_ + steps_ - 1; }

  // Those of which a task ran, ascending; they overlap where a rank is ahead.
  [[nodiscard]] std::vector<StepSpan> steps() const;

  // Names of the resources, each once, as declared.
  [[nodiscard]] std::vector<std::string_view> resources() const;
  [[nodiscard]] std::string_view unit_of(std::string_view resource) const;
  // All pools of it on the rank together; starts with what is held at first. Of equal times the
  // last counts.
  [[nodiscard]] std::vector<Level> levels(std::string_view resource, int rank) const;
  [[nodiscard]] std::int64_t peak(std::string_view resource, int rank) const;
  // The sum of its pools' capacities there; nothing if one is without.
  [[nodiscard]] std::optional<std::int64_t> capacity(std::string_view resource, int rank) const;

  [[nodiscard]] std::span<const core::UseFacts> uses_of(core::LaneId lane) const;
  // A time in the trace's unit, counted from begin().
  [[nodiscard]] double in_unit(core::Time duration) const;

 private:
  core::Status index_boxes();
  core::Status index_messages();
  void sort_idle();
  void index_uses();
  [[nodiscard]] std::size_t task_slot(std::int64_t step, core::Task task) const;

  trace::About about_;
  trace::Record record_;  // its tasks moved to rows_
  Rows rows_;
  std::vector<int> box_of_;              // by step, lane, microbatch; -1
  std::vector<int> message_of_;          // by step, edge, microbatch; -1
  std::vector<std::size_t> first_use_;   // per lane, and one past the last
  std::vector<trace::IdleEvent> idle_;   // by row
  std::vector<std::size_t> first_idle_;  // per row, and one past the last
  std::int64_t first_step_ = 0;
  std::int64_t steps_ = 1;
  core::Time begin_{0};
  core::Time end_{0};
};

// 2F0; nothing if the text is no task of the program.
[[nodiscard]] std::optional<core::Task> task_named(const Timeline& timeline, std::string_view text);
// `1B0 1B1`, those that ran while it ran; empty: none did.
[[nodiscard]] std::string names_beside(const Timeline& timeline, int box);
// In the trace's unit, with as many digits as it has: 12, 0.25.
[[nodiscard]] std::string text_of(const Timeline& timeline, core::Time duration);
// The same of a moment, from the timeline's begin on.
[[nodiscard]] std::string moment_text(const Timeline& timeline, core::Time time);
// The name of a box's task, 2F0.
[[nodiscard]] std::string box_name(const Timeline& timeline, int box);

}  // namespace ripeline::view
