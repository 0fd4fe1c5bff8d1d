// UniformProgram: the even model that is equal to a program or nearest to it, and the lanes of the
// program that correspond to the model's F, I and W.
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
  // Whether the program equals this even model. If not, the model has mean costs and latencies, and
  // the room that a forward must leave is subtracted from its memory. Each order of the model is
  // then also an order of the program, with other times.
  bool is_exact = true;
  // The same model with amounts, if I releases a part of what F acquired. Then orders of `problem`
  // are also legal, but some legal orders are not orders of `problem`.
  std::optional<Uniform> bytes = {};
  std::vector<int> lanes;  // the lanes of F by stage, then of I, then of W

  [[nodiscard]] Rows rows_of(const FoundOrder& order, const Model& model) const;
};

// nullopt unless the program is a chain or V placement of F, I and W with equal capacities on all
// ranks, and W (or I and W together) releases what F acquires. `model` must be the program's.
[[nodiscard]] std::optional<UniformProgram> uniform_of(const spec::Program& program,
                                                       int microbatches, const Model& model);

}  // namespace ripeline::optimise
