// Part of the fifth step: what `on m where` says, as a share of the microbatches.
//
// The microbatches that a condition leaves must repeat, alone and together with all others; where
// the range is one count, any set of microbatches does. Errors: where-….
#pragma once

#include <optional>
#include <string>

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// The share of the op's lane for which `values` hold; `where` ends the sentences of errors.
// Nothing: the lane has no microbatch, perhaps after an error. Keeps Work::share_period.
[[nodiscard]] std::optional<Share> share_of(Work& work, const ast::Op& op, const Values& values,
                                            const std::string& where);

// Once all lanes have shares: if these repeat together only after the one count, each has a period
// that divides it.
void list_shares(Work& work);

}  // namespace ripeline::spec::elaboration
