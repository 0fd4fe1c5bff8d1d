// GraphModel: a LibTorch model for any program. The function of each stage is drawn from a seed,
// and is the same wherever the stage is made.
//
// A stage returns a tensor, or two tensors in a tuple, a list or a dictionary. It has data of its
// own if it needs no other stage, and sometimes also otherwise. Members of a group have shares of
// its linear layers, and all other parameters whole. Pure functions, except that making a layer
// first draws values from LibTorch's generator, which are then overwritten.
#pragma once

#include <cstdint>
#include <vector>

#include "core/facts.h"
#include "runtime/torch/stage.h"

namespace ripeline::proptests {

struct GraphModel {
  const core::ProgramFacts& facts;
  std::uint64_t seed;
  bool is_narrow = false;   // whether it runs in bfloat16, under autocast
  bool recomputes = false;  // whether about half of a pipeline's stages recompute
};

// The stages whose forward the forward of `stage` needs, in ascending order.
[[nodiscard]] std::vector<int> producers_of(const core::ProgramFacts& facts, int stage);

[[nodiscard]] runtime::TorchStage make_stage(const GraphModel& model, int stage,
                                             const runtime::Group& members);
// The stages of a rank, with data, labels and loss.
[[nodiscard]] runtime::TorchModel make_model(const GraphModel& model, int rank,
                                             const runtime::Group& members);

struct WholeModel {
  std::vector<runtime::TorchStage> stages;
  double loss = 0;
};
// Computes the gradients of a step in one process, without a pipeline. Each replica has
// `microbatches` microbatches; the replicas' sums are computed one after the other and added up.
[[nodiscard]] WholeModel train_whole(const GraphModel& model, std::int64_t step, int microbatches,
                                     int replicas);

}  // namespace ripeline::proptests
