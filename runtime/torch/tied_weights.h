// The gradients of tied weights. These are parameters of which several stages have a copy, such as
// the embedding and the output layer of a language model.
//
// Once a stage's gradients are complete and, with several replicas, reduced, its op `reduce` sends
// the gradients of its tied parameters to the other stages that have copies. An op `user` at each
// of these stages adds up the gradients of all copies in stage order, so all copies get bitwise the
// same gradient; since they start equal and are updated alike, they stay equal. The first gradients
// of a run come with the copies' values, which must be the same. Private to TorchWork.
#pragma once

#include <map>
#include <string>

#include "core/status.h"
#include "runtime/torch/stage.h"
#include "runtime/work.h"

namespace ripeline::runtime {

// Sends the gradients of the stage's tied parameters and, if `with_values`, also their values.
core::Status give_tied_gradients(Call& call, const TorchStage& stage, bool with_values);

// Adds the gradients from other stages to the stage's own. `first_stages` then has, by name, the
// first stage with the parameter. Fails if a copy differs in shape or in the value that was sent,
// or if no other stage has a copy.
core::Status add_tied_gradients(Call& call, TorchStage& stage,
                                std::map<std::string, int>& first_stages);

}  // namespace ripeline::runtime
