// Part of the fifth step: what `on m where` says, as a share of the microbatches.
//
// What a condition leaves must repeat, alone and together with all others. Errors: where-….
#pragma once

#include <optional>
#include <string>

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// Of the op's lane for which `values` hold; `where` ends the sentences of errors. Nothing: the lane
// has no microbatch, perhaps after an error. Keeps Work::share_period.
[[nodiscard]] std::optional<Share> share_of(Work& work, const ast::Op& op, const Values& values,
                                            const std::string& where);

}  // namespace ripeline::spec::elaboration
