// Peaks: which of the proved bounds are reached, and the least bounds if there are few states.
//
// A bound may not be the least, since counts and cuts may describe states that no run reaches. So a
// few greedy runs are made first: a bound is reached if one of these runs holds that amount. If a
// bound stays open and the range has few counts with few states, all states are visited.
#pragma once

#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/judge/judge.h"
#include "verify/verify.h"

namespace ripeline::verify {

// The peak of each pool, for proved memory. Without `options.find_runs` no run is searched for.
[[nodiscard]] std::vector<std::optional<Peak>> peaks_of(const spec::Program& program,
                                                        const VerifyOptions& options,
                                                        const MemoryFinding& memory);

}  // namespace ripeline::verify
