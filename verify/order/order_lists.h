// OrderLists: the tasks of each engine of each rank, one after another, under a committed order
// with one microbatch count. A pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

struct OrderLists {
  std::optional<spec::Diagnostics> invalid;        // set if the order has no meaning for this count
  std::vector<std::vector<spec::Task>> of_engine;  // per rank and engine
  // Per lane and microbatch: the index of its first occurrence in its engine's list, or -1.
  std::vector<std::vector<int>> position;
  // Why a rank's list does not have each task exactly once; empty if every list does.
  std::string not_once;
};
[[nodiscard]] OrderLists lists_of_order(const spec::Program& program, int microbatches);

// The lane's index into the lists.
[[nodiscard]] int list_of(const spec::Program& program, int lane);

}  // namespace ripeline::verify
