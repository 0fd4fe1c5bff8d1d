// The gradients of tied weights: parameters of which several stages have a copy, such as the
// embedding and the output layer of a language model.
//
// Once a stage's gradients are complete and, of several replicas, reduced, its op `reduce` gives
// those of its tied parameters to the other stages that have them. An op `user` at each of these
// adds up all of them in stage order, so that the copies get the same gradient to the bit, and as
// they start alike and are updated alike, stay alike. With the first gradients of a run come the
// values, which must be the same. Private to TorchWork.
#pragma once

#include <map>
#include <string>

#include "core/status.h"
#include "runtime/torch/stage.h"
#include "runtime/work.h"

namespace ripeline::runtime {

// To the stages that add them up, with the values or without.
core::Status give_tied_gradients(Call& call, const TorchStage& stage, bool with_values);

// Adds those of other stages to the stage's own. `first_stages` then has, by name, the first stage
// that has the parameter. Fails when a copy differs in shape or in the values that came, or when
// no other stage has it.
core::Status add_tied_gradients(Call& call, TorchStage& stage,
                                std::map<std::string, int>& first_stages);

}  // namespace ripeline::runtime
