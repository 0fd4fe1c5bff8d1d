// The demands of a model's capacities on the order of its tasks, as constraints of a CpModel.
//
// Of a pool that one lane acquires, what must have ended before a task starts is known from the
// tasks' numbers: the n-th task of the lane that releases, or where two lanes release, clauses
// over both. These are exact, and much faster than what is left for other pools: what a task
// acquires stays until the task of the same number of a lane that releases has ended, and all
// that stays at a time is held at once. Blocks of free tasks are looked at one by one, since what
// is before and after them is fixed.
#pragma once

#include <optional>
#include <vector>

#include "optimise/model.h"
#include "optimise/solver/cp_model.h"
#include "optimise/solver/order_graph.h"

namespace ripeline::optimise {

// A CpModel that is being written, with a hint for each variable if the order graph has starts.
struct CpDraft {
  CpModel model = {};
  std::vector<int> variable_of = {};  // per task its start, or -1
  Time horizon = 0;                   // by which all has ended
  bool is_hinted = false;

  int add(CpModel::Domain domain, Time hint) {
    if (is_hinted) model.hint.push_back(hint);
    return model.add(domain);
  }
};

// A pool whose demand cannot be stated in these ways is left out: that only allows more.
void add_rooms(const Model& model, const OrderGraph& graph, CpDraft& draft);

// The fewest needs on a way from a task to another; nothing: there is none.
[[nodiscard]] std::optional<int> needs_between(const Model& model, int from, int to);

}  // namespace ripeline::optimise
