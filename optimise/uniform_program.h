// What is uniform in a program: whether it is an even model, and which of its lanes is which.
//
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "optimise/model.h"
#include "optimise/uniform.h"
#include "spec/program.h"

namespace ripeline::optimise {

struct UniformProgram {
  Uniform problem;  // in nanoseconds
  // If I gives back a part of what F took: the same in bytes. Then an order of `problem` is legal
  // too, but not all that fits.
  std::optional<Uniform> bytes = {};
  std::vector<int> lanes;  // of F of each stage, then of I, then of W

  [[nodiscard]] Rows rows_of(const FoundOrder& order, const Model& model) const;
};

// Nothing: the program is no chain or V placement of F, I and W with the same costs, latencies and
// capacities everywhere; what F takes is given back by W, or by I and W. `model` is of the program.
[[nodiscard]] std::optional<UniformProgram> uniform_of(const spec::Program& program,
                                                       int microbatches, const Model& model);

}  // namespace ripeline::optimise
