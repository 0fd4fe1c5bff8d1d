// Finds a first legal order of a model: one microbatch after the other, as far as room allows.
//
// A task that finds no room is skipped until another task has released enough. If this leads to a
// dead end, a search tries the alternatives. A task after which no pool holds more than before is
// listed as soon as possible, since it takes nothing from other tasks; of the other tasks, each is
// tried. So for a small model that has an order, one is found. Pure, deterministic, thread-safe.
#pragma once

#include <optional>

#include "optimise/model.h"

namespace ripeline::optimise {

// nullopt if no order with each lane's tasks in turn fits the pools of the model's machines, or if
// none was found in a limited number of steps. In each row, tasks are in the order in which they
// were listed, so needs come first. Constraints that the model leaves out are ignored.
[[nodiscard]] std::optional<Rows> first_order(const Model& model);

}  // namespace ripeline::optimise
