// UniformProgram: the even model that a program is or that is nearest to it, and which of the
// program's lanes are its F, I and W.
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
  // Whether the program is this even model. Otherwise costs and latencies are means, and what a
  // forward must leave is left out of the memory: each order is one of the program, but for other
  // times.
  bool is_exact = true;
  // If I gives back a part of what F took: the same in bytes. Then an order of `problem` is legal
  // too, but not all that fits.
  std::optional<Uniform> bytes = {};
  std::vector<int> lanes;  // F's by stage, then I's, then W's

  [[nodiscard]] Rows rows_of(const FoundOrder& order, const Model& model) const;
};

// Nothing: the program is no chain or V placement of F, I and W with the same capacities
// everywhere; what F takes is given back by W, or by I and W. `model` is of the program.
[[nodiscard]] std::optional<UniformProgram> uniform_of(const spec::Program& program,
                                                       int microbatches, const Model& model);

}  // namespace ripeline::optimise
