// Part of the fifth step: what the tasks of an op take.
//
// Errors: cost-negative, cost-once, cost-input.
#pragma once

#include <string>

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Reports a cost that is wrong at every stage.
void check_cost(Work& work, const ast::Op& op);
// The cost of the op's lane with that share for which `values` hold; `where` ends the sentences of
// errors.
[[nodiscard]] Cost cost_of(Work& work, const ast::Op& op, const Share& share, const Values& values,
                           const std::string& where);

}  // namespace ripeline::spec::elaboration
