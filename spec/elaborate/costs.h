// Part of the fifth step: the costs of an op's tasks.
//
// Errors: cost-negative, cost-once, cost-input.
#pragma once

#include <string>

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Reports the errors of a cost that would occur at every stage.
void check_cost(Work& work, const ast::Op& op);
// The cost of the op's lane with this share, where names have these `values`; `where` ends the
// sentences of errors.
[[nodiscard]] Cost cost_of(Work& work, const ast::Op& op, const Share& share, const Values& values,
                           const std::string& where);

}  // namespace ripeline::spec::elaboration
