// ProgramBounds: the bounds of a program, by the formulas of optimise/bounds/bounds.h.
//
// By span, each rank is measured from its own first start to its own last end. So heads are paths
// from one of its tasks, and tails are paths to one of its tasks. Tasks on no path between two
// tasks of the rank may run outside this time, and are left out. All arguments must outlive the
// object; one thread.
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
  // `timing` must draw nothing.
  ProgramBounds(const spec::Program& program, int microbatches, const simulate::Timing& timing,
                const TaskGraph& graph);

  Bound makespan();
  Bound span();

 private:
  using Time = TaskGraph::Time;

  // A task of an engine or a message of a link; while it runs, no other runs there. The job starts
  // no earlier than its head, and after its end at least its tail follows.
  struct Job {
    Time head = 0;
    Time takes = 0;
    Time tail = 0;
  };
  // The engine time that a task accounts for, whatever runs beside it: a share of its own time,
  // such that two overlapping tasks account for no more than their overlap. The remaining time is
  // rounded whenever another task starts beside it; `rounding` is subtracted for that.
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
  // Messages that occupy a link while they are transferred, by the link's two ranks.
  std::map<std::pair<int, int>, std::vector<core::Message>> links_;
  std::vector<Time> heads_;
  std::vector<Time> tails_;
  std::array<std::vector<Job>, spec::kEngines> engines_;  // one rank's jobs
  std::vector<Job> messages_;
  Bound best_;
};

}  // namespace ripeline::optimise
