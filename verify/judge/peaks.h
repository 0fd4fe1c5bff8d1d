// Peaks: of the bounds that a judge proved, which are reached, and the least where states are few.
//
// A bound need not be the least one: counts and cuts may stand for states that no run reaches. So a
// few greedy runs are made first; whatever they hold is reached. Where they leave a bound open and
// the range is of few counts with few states, these are all visited, which finds the least.
#pragma once

#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/judge/judge.h"
#include "verify/verify.h"

namespace ripeline::verify {

// Per pool, of memory that is proved. Without `options.find_runs` nothing is looked for.
[[nodiscard]] std::vector<std::optional<Peak>> peaks_of(const spec::Program& program,
                                                        const VerifyOptions& options,
                                                        const MemoryFinding& memory);

}  // namespace ripeline::verify
