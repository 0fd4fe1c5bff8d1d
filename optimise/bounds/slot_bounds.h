// SlotBounds: bounds from the time for which the amounts that a program acquires stay in its pools.
//
// They are the formulas cycle and room of optimise/bounds/bounds.h. An acquired amount stays at
// least for the longest path from the acquiring task's start to the releasing task's end. The bound
// `cycle` is for pools with one acquiring lane. The program and graph must outlive the object.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "optimise/bounds/bounds.h"
#include "optimise/bounds/task_graph.h"
#include "spec/program.h"

namespace ripeline::optimise {

class SlotBounds {
 public:
  using Time = TaskGraph::Time;
  using Consider = std::function<void(Bound bound)>;

  SlotBounds(const spec::Program& program, const TaskGraph& graph, const simulate::Timing& timing);

  // `heads` and `tails` are per node of the graph. A pool is skipped if some task that acquires or
  // releases it lacks a head or a tail.
  void find(const std::vector<Time>& heads, const std::vector<Time>& tails,
            const Consider& consider) const;

 private:
  // A part of the amount that each task of a lane acquires, and the least time until its release.
  struct Stay {
    std::int64_t amount = 0;
    Time time = 0;
  };
  struct Pool {
    int pool = 0;
    std::int64_t capacity = 0;
    std::vector<int> acquiring;  // lanes
    std::vector<int> releasing;
    std::vector<std::vector<Stay>> stays;  // per acquiring lane, the shortest first
  };

  void add(int pool, const simulate::Timing& timing);
  [[nodiscard]] Time least_takes(int lane) const;
  [[nodiscard]] std::vector<Time> paths_from(int lane, const simulate::Timing& timing) const;
  [[nodiscard]] Time cycle(const Pool& pool, const std::vector<Time>& heads,
                           const std::vector<Time>& tails) const;
  [[nodiscard]] Time room(const Pool& pool, const std::vector<Time>& heads,
                          const std::vector<Time>& tails) const;

  const spec::Program& program_;
  const TaskGraph& graph_;
  std::vector<Pool> pools_;
};

}  // namespace ripeline::optimise
