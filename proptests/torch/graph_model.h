// A model for any program whose stages are LibTorch's: what each stage computes is drawn from a
// seed, and is the same wherever it is made.
//
// A stage gives a tensor, or two in a tuple, or a list or a dictionary with them; it has own data
// if it needs no other stage, and now and then if it does. Members of a group have shares of its
// linear layers, and all of the rest. Pure functions, but that layers draw from LibTorch's
// generator what is then written over.
#pragma once

#include <cstdint>
#include <vector>

#include "core/facts.h"
#include "runtime/torch/stage.h"

namespace ripeline::proptests {

struct GraphModel {
  const core::ProgramFacts& facts;
  std::uint64_t seed;
  bool is_narrow = false;   // under autocast
  bool recomputes = false;  // every other stage of the pipeline, by the seed
};

// The stages whose forward a stage's forward needs, in order.
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
// The gradients of a step in one process, without a pipeline: of so many microbatches of each
// replica, one replica after the other, whose sums are added up.
[[nodiscard]] WholeModel train_whole(const GraphModel& model, std::int64_t step, int microbatches,
                                     int replicas);

}  // namespace ripeline::proptests
