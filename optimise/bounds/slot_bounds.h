// SlotBounds: how long what a program acquires stays in its pools, and what follows from it.
//
// The formulas cycle and room of optimise/bounds/bounds.h. What a task acquires stays for the
// longest path from its start to the end of the task that releases it, at least. `cycle` is of a
// pool that one lane acquires, `room` of any. The program and the graph must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "optimise/bounds/task_graph.h"
#include "spec/program.h"

namespace ripeline::optimise {

class SlotBounds {
 public:
  using Time = TaskGraph::Time;
  using Consider = std::function<void(Time value, const std::string& by)>;

  SlotBounds(const spec::Program& program, const TaskGraph& graph, const simulate::Timing& timing);

  // With heads and tails per node of the graph. What acquires or releases must have both, or the
  // pool does not count.
  void find(const std::vector<Time>& heads, const std::vector<Time>& tails,
            const Consider& consider) const;

 private:
  // A part of what each task of a lane acquires, with the least time until it is released.
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
