// A first legal order of a model: one microbatch after the other, as far as room allows.
//
// A task that finds no room is passed over until another task releases some. If that leads into a
// dead end, a search tries the alternatives. A task after which no more is held than before starts
// as soon as it may, since that takes nothing from any other task; of the other tasks each is
// tried. So for a small model that has an order, one is found. Pure, deterministic, thread-safe.
#pragma once

#include <optional>

#include "optimise/model.h"

namespace ripeline::optimise {

// nullopt if the pools of the model's machines allow no order that has each lane's tasks in turn,
// or if none was found in a limited number of steps. Each row lists a task as soon as all tasks
// that it needs are listed. Constraints that the model leaves out are ignored.
[[nodiscard]] std::optional<Rows> first_order(const Model& model);

}  // namespace ripeline::optimise
