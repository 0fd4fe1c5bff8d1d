// Writes the order problem of a model as a CpModel, and reads an order from its solution.
//
// Each task has a start. Tasks of a machine's block do not overlap; needs, turns and room are kept.
// Tasks whose times follow from fixed positions alone are left out: those before all free tasks
// start as soon as they can, and for those after all free tasks only the longest path to the end
// counts. If one task's start is minimised, tasks that need that task are left out, unless several
// lanes share a pool.
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

// The value to minimise. `least` is a lower bound of this value, in the graph's unit of time.
struct OrderGoal {
  Objective objective = Objective::makespan;
  int entry = -1;  // a task whose start is minimised instead; then all tasks are free
  Time least = 0;
};

[[nodiscard]] OrderModel order_model(const Model& model, const OrderGraph& graph,
                                     const OrderGoal& goal);

// The order of a solution; not for a model that minimises the start of one task.
[[nodiscard]] Rows rows_of(const Model& model, const OrderGraph& graph, const OrderModel& made,
                           const std::vector<CpModel::Value>& values);

}  // namespace ripeline::optimise
