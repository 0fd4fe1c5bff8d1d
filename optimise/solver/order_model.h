// Writes the order problem of a model as a CpModel, and reads an order from its solution.
//
// Each task has a start; tasks of a machine's block do not overlap; needs, turns and room are kept.
// Tasks whose times follow from fixed places alone are left out: those before all free tasks start
// as soon as they can, and for those after all free tasks only the longest path to the end counts.
// If the start of one task is asked for, tasks that need it are left out, unless lanes share a
// pool.
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

// The value to be minimised. No solution is below `least`, in the graph's times.
struct OrderGoal {
  Objective objective = Objective::wall;
  int entry = -1;  // a task whose start is minimised instead; then all tasks are free
  Time least = 0;
};

[[nodiscard]] OrderModel order_model(const Model& model, const OrderGraph& graph,
                                     const OrderGoal& goal);

// The solution's order, if no task's start was asked for.
[[nodiscard]] Rows rows_of(const Model& model, const OrderGraph& graph, const OrderModel& made,
                           const std::vector<CpModel::Value>& values);

}  // namespace ripeline::optimise
