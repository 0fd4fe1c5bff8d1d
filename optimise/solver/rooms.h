// The constraints of a model's capacities on the order of its tasks, in a CpModel.
//
// For a pool that one lane acquires, the tasks' numbers tell which task must end before another
// starts: the n-th of the lane that releases or, if two lanes release, clauses over both. These
// constraints are exact, and much faster than those for other pools. For the other pools, an amount
// that a task acquires stays until the task of the same number of a releasing lane has ended, and
// all amounts that stay at a time must fit at once. Blocks of free tasks are handled one by one,
// since the tasks before and after a block are fixed.
#pragma once

#include <optional>
#include <vector>

#include "optimise/model.h"
#include "optimise/solver/cp_model.h"
#include "optimise/solver/order_graph.h"

namespace ripeline::optimise {

// A CpModel under construction, with a hint for each variable if the order graph has starts.
struct CpDraft {
  CpModel model = {};
  std::vector<int> variable_of = {};  // per task: the variable of its start, or -1
  Time horizon = 0;                   // the time by which all tasks have ended
  bool is_hinted = false;

  int add(CpModel::Domain domain, Time hint) {
    if (is_hinted) model.hint.push_back(hint);
    return model.add(domain);
  }
};

// Leaves out pools whose constraints cannot be stated in these ways; this only allows more orders.
void add_rooms(const Model& model, const OrderGraph& graph, CpDraft& draft);

// The fewest needs on a path from one task to another; nullopt if there is no path.
[[nodiscard]] std::optional<int> needs_between(const Model& model, int from, int to);

}  // namespace ripeline::optimise
