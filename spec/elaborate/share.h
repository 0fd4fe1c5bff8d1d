// Part of the fifth step: turns `on m where` into a share of the microbatches.
//
// The microbatches for which a condition holds must repeat, alone and together with all other
// shares; if the range is one count, any set is allowed. Errors: where-….
#pragma once

#include <optional>
#include <string>

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// The share of the op's lane for the names' `values`; `where` ends the sentences of errors. Nothing
// if the lane has no microbatch, perhaps after an error. Updates Work::share_period.
[[nodiscard]] std::optional<Share> share_of(Work& work, const ast::Op& op, const Values& values,
                                            const std::string& where);

// Called once all lanes have shares: if these repeat together only after the one count, gives each
// a period that divides it.
void list_shares(Work& work);

}  // namespace ripeline::spec::elaboration
