// ProgramBounds: the bounds of a program, by the formulas of optimise/bounds/bounds.h.
//
// By span, the time of each rank counts from its own first start to its own last end. So heads are
// paths that begin at one of its tasks, and tails are paths that end at one. A task on no path
// between two tasks of the rank may run outside this time, and is left out. All arguments must
// outlive the object. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/task.h"
#include "optimise/bounds/bounds.h"
#include "optimise/bounds/room_bounds.h"
#include "optimise/bounds/slot_bounds.h"
#include "optimise/bounds/task_graph.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::optimise {

class ProgramBounds {
 public:
  // `timing` must not draw any times.
  ProgramBounds(const spec::Program& program, int microbatches, const simulate::Timing& timing,
                const TaskGraph& graph);

  Bound makespan();
  Bound span();

 private:
  using Time = TaskGraph::Time;

  // A task on an engine or a message on a link; only one job runs there at a time. The job starts
  // no earlier than `head`, and after its end at least `tail` follows.
  struct Job {
    Time head = 0;
    Time takes = 0;
    Time tail = 0;
  };
  // The part of a task's time that it certainly adds to its engine's time, whatever runs beside it.
  // `share` is such that two overlapping tasks add no more than their overlap. `rounding` is
  // subtracted since the remaining time is rounded whenever another task starts beside it.
  struct Taken {
    double share = 1;
    Time rounding = 0;
  };

  static Time one_after_the_other(std::vector<Job>& jobs);
  [[nodiscard]] Taken taken_by(int lane) const;
  [[nodiscard]] Time taken_by_task(int node, const Taken& taken) const;
  void add_links();
  void consider(Bound bound, const std::string& where);
  void consider_all(const std::string& where);
  [[nodiscard]] bool counts(int node) const;
  void consider_path(const std::string& where);
  void consider_engines(int rank, const std::string& where);
  std::vector<Job>& jobs_of(const std::vector<core::Message>& messages);

  const spec::Program& program_;
  int microbatches_;
  const simulate::Timing& timing_;
  const TaskGraph& graph_;
  RoomBounds room_;
  SlotBounds slots_;
  std::vector<Taken> taken_;  // per lane
  // The messages that occupy each link while they are transferred. The key is the link's two ranks.
  std::map<std::pair<int, int>, std::vector<core::Message>> links_;
  std::vector<Time> heads_;
  std::vector<Time> tails_;
  std::array<std::vector<Job>, spec::kEngines> engines_;  // one rank's jobs
  std::vector<Job> messages_;
  Bound best_;
};

}  // namespace ripeline::optimise
