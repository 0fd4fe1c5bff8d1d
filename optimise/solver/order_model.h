// The order problem of a model as a CpModel, and an order out of its solution.
//
// Each task has a start; tasks of a machine's block do not overlap; needs, turns and room are kept.
// Tasks whose times follow from fixed places alone are left out: those before all free tasks start
// when they can, and of those after all free tasks what counts is the longest path to the end.
#pragma once

#include <vector>

#include "optimise/model.h"
#include "optimise/solver/cp_model.h"
#include "optimise/solver/order_graph.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

struct OrderModel {
  CpModel program = {};
  std::vector<int> variable_of = {};  // per task its start, or -1
};

// No solution is below `least`, in the graph's times.
[[nodiscard]] OrderModel order_model(const Model& model, const OrderGraph& graph,
                                     Objective objective, Time least);

// The solution's order.
[[nodiscard]] Rows rows_of(const Model& model, const OrderGraph& graph, const OrderModel& made,
                           const std::vector<CpModel::Value>& values);

}  // namespace ripeline::optimise
