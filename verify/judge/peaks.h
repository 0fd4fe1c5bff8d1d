// Peaks: which bounds that a judge proved are reached, and the least bounds where states are few.
//
// A bound need not be the least: counts and cuts may stand for states that no run reaches. So a few
// greedy runs are made first; the amounts that they hold are reached. If a bound stays open and the
// range has few counts with few states, all states are visited, which finds the least bound.
#pragma once

#include <optional>
#include <vector>

#include "spec/program.h"
#include "verify/judge/judge.h"
#include "verify/verify.h"

namespace ripeline::verify {

// Per pool the peak, for proved memory. Without `options.find_runs` nothing is looked for.
[[nodiscard]] std::vector<std::optional<Peak>> peaks_of(const spec::Program& program,
                                                        const VerifyOptions& options,
                                                        const MemoryFinding& memory);

}  // namespace ripeline::verify
