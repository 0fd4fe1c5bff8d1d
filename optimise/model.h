// Model: one step of a program in numbers, as the searches and the solver read it.
//
// A machine is an engine of a rank that has tasks. It runs one task at a time, and each lane's
// tasks in turn, so an order of the step is a row of lanes for each machine. If all microbatches
// have the same costs and needs, some best order has this form. An edge with `of all` becomes a
// task that takes no time and joins the edge's messages, alone on a machine without a rank.
//
// The model cannot describe pairs, bounded inboxes, links with bandwidth, pools that several
// engines use, assertions without a value, and amounts that are held for no time. `left_out` names
// the first such feature that a program has. The exact times of its orders then come only from a
// simulated run, and the model only guides the search. Times are in nanoseconds. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optimise/bounds/task_graph.h"
#include "simulate/timing.h"
#include "spec/program.h"

namespace ripeline::optimise {

using Time = std::int64_t;

struct Model {
  struct Lane {
    int machine = 0;
    int first = 0;  // the number of its first task; its other tasks follow
    int tasks = 0;
  };
  struct Machine {
    int rank = -1;  // -1 for a machine that joins messages
    int tasks = 0;
    std::vector<int> lanes = {};
    std::vector<int> pools = {};  // those that have a limit and that only this machine uses
  };
  // A need between tasks of different machines.
  struct Arc {
    int task = 0;  // the task at the other end
    Time lag = 0;  // the least time from the end of the first to the start of the second
  };
  struct Use {
    std::int64_t acquires = 0;  // at the start
    std::int64_t asks = 0;  // the free room needed at the start: `acquires` plus what it must leave
    std::int64_t releases = 0;  // at the end
    friend bool operator==(const Use&, const Use&) = default;
  };
  struct Pool {
    std::int64_t capacity = 0;   // or the asserted peak, if this is less
    std::vector<Use> uses = {};  // per lane of the program
    friend bool operator==(const Pool&, const Pool&) = default;
  };

  // `graph` must be made with the same program, count and timing as the model.
  [[nodiscard]] static Model of(const spec::Program& program, int microbatches,
                                const simulate::Timing& timing, const TaskGraph& graph);

  [[nodiscard]] int tasks() const { return size_of(takes); }
  [[nodiscard]] std::span<const Arc> needs_of(int task) const { return arcs_of(needs_, task); }
  [[nodiscard]] std::span<const Arc> feeds_of(int task) const { return arcs_of(feeds_, task); }
  // The tasks on which the task depends and which are in other lanes of the same machine.
  [[nodiscard]] std::span<const int> after(int task) const {
    return std::span(near_).subspan(first_near_[index(task)],
                                    first_near_[index(task) + 1] - first_near_[index(task)]);
  }

  std::vector<Lane> lanes;  // the program's lanes, then one for each `of all`
  std::vector<Machine> machines;
  std::vector<Pool> pools;              // numbered as in Machine::pools
  std::vector<int> lane_of;             // per task
  std::vector<Time> takes;              // per task
  std::vector<Time> heads;              // per task: the longest path before it
  std::vector<Time> begin_of;           // per rank: the least head of its tasks
  bool even = false;                    // all microbatches have the same tasks, needs and times
  std::optional<std::string> left_out;  // for people, such as `pairs`

 private:
  struct Arcs {
    std::vector<std::size_t> first;  // per task, and one past the last
    std::vector<Arc> all;
  };
  [[nodiscard]] static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] static std::span<const Arc> arcs_of(const Arcs& arcs, int task) {
    const std::size_t first = arcs.first[index(task)];
    return std::span(arcs.all).subspan(first, arcs.first[index(task) + 1] - first);
  }
  void add_lanes(const spec::Program& program, int microbatches, const TaskGraph& graph);
  void add_arcs(const TaskGraph& graph);
  void add_pools(const spec::Program& program, int microbatches);

  Arcs needs_;
  Arcs feeds_;
  std::vector<std::size_t> first_near_;
  std::vector<int> near_;
};

// The greatest common divisor of all task times and lags; at least 1. It divides any order's times.
[[nodiscard]] Time common_divisor(const Model& model);

// Per machine, the lanes of its tasks in the order in which the tasks run.
using Rows = std::vector<std::vector<int>>;

// The start of each task, if all tasks run as soon as the rows of their machines and their needs
// allow. nullopt if the rows are not an order of all tasks, if machines deadlock, or if a pool has
// too little room for its machine's row.
[[nodiscard]] std::optional<std::vector<Time>> starts_of(const Model& model, const Rows& rows);

}  // namespace ripeline::optimise
