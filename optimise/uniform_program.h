// UniformProgram: the even model that equals a program or is nearest to it, and the lanes of the
// program that are the model's F, I and W.
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
  // Whether the program equals this even model. Otherwise costs and latencies are means, and the
  // memory lacks the room that a forward must leave. Then each order of the model is an order of
  // the program, with other times.
  bool is_exact = true;
  // The same model with amounts, if I gives back a part of what F took. Then orders of `problem`
  // are legal too, but some legal orders are not among them.
  std::optional<Uniform> bytes = {};
  std::vector<int> lanes;  // those of F by stage, then of I, then of W

  [[nodiscard]] Rows rows_of(const FoundOrder& order, const Model& model) const;
};

// nullopt if the program is not a chain or V placement of F, I and W with the same capacities
// everywhere, in which W, or I and W, give back what F takes. `model` must be the program's.
[[nodiscard]] std::optional<UniformProgram> uniform_of(const spec::Program& program,
                                                       int microbatches, const Model& model);

}  // namespace ripeline::optimise
