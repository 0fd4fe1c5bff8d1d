// Part of the fifth step: turns `on m where` into a share of the microbatches.
//
// The microbatches for which a condition holds must repeat, alone and together with all other
// shares, unless the range is one count; with one count any set is allowed. Errors: where-….
#pragma once

#include <optional>
#include <string>

#include "spec/elaborate/work.h"

namespace ripeline::spec::elaboration {

// The share of the op's lane for these values of names; nullopt if the lane has no microbatch,
// perhaps after an error. `where` ends the sentences of errors. Updates Work::share_period.
[[nodiscard]] std::optional<Share> share_of(Work& work, const ast::Op& op, const Values& values,
                                            const std::string& where);

// If all shares together repeat only after the one count, gives each share a period that divides
// the count. Called once all lanes have shares.
void list_shares(Work& work);

}  // namespace ripeline::spec::elaboration
