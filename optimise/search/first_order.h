// A first legal order of a model: one microbatch after the other, as far as room allows.
//
// A task that finds no room is passed over until something gives room back. Where that leads into a
// dead end, the ways to it are gone through: a task that holds no more afterwards than before is
// started as soon as it may, since that takes nothing from any other, and of the others each is
// tried. So of a small model that has an order one is found. Pure, deterministic, thread-safe.
#pragma once

#include <optional>

#include "optimise/model.h"

namespace ripeline::optimise {

// Nothing: no order in which each lane's tasks have their turns keeps to the pools of the model's
// machines, or none was found in a limited number of steps. Each task stands in its row as soon as
// what it needs is listed. What the model leaves out is not looked at.
[[nodiscard]] std::optional<Rows> first_order(const Model& model);

}  // namespace ripeline::optimise
