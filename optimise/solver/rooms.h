// The constraints of a model's capacities on the order of its tasks, in a CpModel.
//
// If only one lane acquires from a pool, it is known which task must end before another may start:
// the task with a certain number in the releasing lane or, with two releasing lanes, some task of
// either. These constraints are exact, and much faster than those for other pools. For other pools,
// each amount that a task acquires stays until the task with the same number in a releasing lane
// ends, and all amounts that stay at one time must fit together. Blocks of free tasks are handled
// one by one, since the tasks before and after a block are fixed.
#pragma once

#include <optional>
#include <vector>

#include "optimise/model.h"
#include "optimise/solver/cp_model.h"
#include "optimise/solver/order_graph.h"

namespace ripeline::optimise {

// A CpModel under construction. If the order graph has starts, each variable also has a hint.
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

// Leaves out pools whose constraints cannot be stated as above; this only allows more orders.
void add_rooms(const Model& model, const OrderGraph& graph, CpDraft& draft);

// The fewest needs on any path from `from` to `to`; nullopt if there is no path.
[[nodiscard]] std::optional<int> needs_between(const Model& model, int from, int to);

}  // namespace ripeline::optimise
