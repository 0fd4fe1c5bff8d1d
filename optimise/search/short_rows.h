// An order in the form that the searches use: a row of bytes for each rank.
//
// A lane is one op of one stage. Lanes run their microbatches in order, so a row lists only lanes.
// If all microbatches have equal costs, this excludes no better order. Values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "optimise/uniform.h"

namespace ripeline::optimise {

// The lanes of a rank. On a V placement a rank also has the lanes of its stage on the way back up,
// numbered kUp higher.
using Lane = std::uint8_t;
inline constexpr Lane kForward = 0;
inline constexpr Lane kInput = 1;
inline constexpr Lane kWeight = 2;
inline constexpr Lane kUp = 3;
inline constexpr int kMostLanes = 6;

using ShortRow = std::vector<Lane>;
using ShortRows = std::vector<ShortRow>;  // one per rank

// The order with the times and the peak that `rows` give when each task starts as soon as it can.
// nullopt if they are not a legal order: a task is missing or listed twice, ranks wait for each
// other, or the memory does not suffice.
[[nodiscard]] std::optional<FoundOrder> timed(const Uniform& uniform, const ShortRows& rows);

}  // namespace ripeline::optimise
