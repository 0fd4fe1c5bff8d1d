// Writes the order problem of a model as a CpModel, and reads an order from its solution.
//
// Each task has a start variable. Tasks in a block do not overlap; needs, turns and room are kept.
// Tasks whose times follow from fixed positions alone get no variable. A task before all free tasks
// starts as soon as it can. After all free tasks, only the longest path to the end counts. If the
// start of one task, the entry, is minimised, tasks that need the entry get no variable either,
// unless several lanes share a pool.
#pragma once

#include <vector>

#include "optimise/model.h"
#include "optimise/solver/cp_model.h"
#include "optimise/solver/order_graph.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

struct OrderModel {
  CpModel program = {};
  std::vector<int> variable_of = {};  // per task: the variable of its start, or -1
};

// The value to minimise. `least` is a lower bound on it, in the graph's unit of time.
struct OrderGoal {
  Objective objective = Objective::makespan;
  int entry = -1;  // a task whose start is minimised instead; then all tasks are free
  Time least = 0;
};

[[nodiscard]] OrderModel order_model(const Model& model, const OrderGraph& graph,
                                     const OrderGoal& goal);

// The order that a solution has. Not allowed if the start of an entry was minimised.
[[nodiscard]] Rows rows_of(const Model& model, const OrderGraph& graph, const OrderModel& made,
                           const std::vector<CpModel::Value>& values);

}  // namespace ripeline::optimise
