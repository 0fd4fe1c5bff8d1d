// RoomBounds: the bounds that follow from a program's capacities.
//
// They are the formulas head, head+tail and head+drain of optimise/bounds/bounds.h, for tasks that
// acquire and release any amounts, with any costs, placements and needs. A pool is used if it has a
// capacity and one engine runs all tasks that acquire or release it, one at a time. Other pools and
// `leaving` are ignored. The program and the graph must outlive the object.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "optimise/bounds/bounds.h"
#include "optimise/bounds/task_graph.h"
#include "spec/program.h"

namespace ripeline::optimise {

class RoomBounds {
 public:
  using Time = TaskGraph::Time;
  using Consider = std::function<void(Bound bound)>;

  RoomBounds(const spec::Program& program, const TaskGraph& graph, int microbatches);

  // `heads` and `tails` are per node of the graph. A pool is skipped if some task of its engine
  // lacks a head or a tail.
  void find(const std::vector<Time>& heads, const std::vector<Time>& tails,
            const Consider& consider) const;

 private:
  // One lane of the pool's engine. `release` and `earlier` are indices in the pool's `uses`, or -1.
  struct Use {
    int lane = 0;
    std::int64_t acquires = 0;
    std::int64_t releases = 0;
    bool may_be_last = false;  // it acquires, and no acquiring lane needs it
    int release =
        -1;  // if it does neither: the nearest releasing use that needs it and includes its time
    int earlier = -1;  // if it releases: the nearest releasing use that it needs
  };
  struct Pool {
    int pool = 0;
    std::int64_t capacity = 0;
    std::int64_t acquired = 0;  // by all tasks
    std::vector<Use> uses = {};
  };
  struct Task {
    Time head = 0;
    Time takes = 0;
    Time tail = 0;
    int use = 0;
  };
  struct Tasks {
    std::vector<Task> all;   // sorted by use, then by number in the lane
    std::vector<int> first;  // per use, and one past the last
  };
  // Before `until`, the engine is idle for at least `time`.
  struct Idle {
    Time until = 0;
    Time time = 0;
  };

  void add(int pool);
  void relate(Pool& pool) const;
  void find(const Pool& pool, const Tasks& tasks, const Consider& consider) const;
  void find_drain(const Pool& pool, const Tasks& tasks, const Idle& idle,
                  const Consider& consider) const;
  static Idle idle(const Pool& pool, const Tasks& tasks);
  // The least total time of tasks that do not acquire, whose tails are below `tail`, and that must
  // end before the last acquiring task starts.
  static Time work_of_releases(const Pool& pool, const Tasks& tasks, Time tail);
  [[nodiscard]] Bound bound_by(Time value, Formula formula, const Pool& pool) const;

  const spec::Program& program_;
  const TaskGraph& graph_;
  int microbatches_;
  std::vector<Pool> pools_;
};

}  // namespace ripeline::optimise
