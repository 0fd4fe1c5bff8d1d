// An order in the form that the searches use: per rank, a row of bytes.
//
// A lane is one op of one stage. Lanes run their microbatches in order, so a row lists only lanes.
// If all microbatches have equal costs, this excludes no better order. Values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "optimise/uniform.h"

namespace ripeline::optimise {

// The lanes of a rank. On a V placement a rank also has the lanes of its second stage, on the way
// back up; their numbers are higher by kUp.
using Lane = std::uint8_t;
inline constexpr Lane kForward = 0;
inline constexpr Lane kInput = 1;
inline constexpr Lane kWeight = 2;
inline constexpr Lane kUp = 3;
inline constexpr int kMostLanes = 6;

using ShortRow = std::vector<Lane>;
using ShortRows = std::vector<ShortRow>;  // one per rank

// The order with its times and peak, if each task starts as soon as it can. nullopt if `rows` is
// not a legal order: a task is missing or listed twice, ranks deadlock, or the memory is too
// small.
[[nodiscard]] std::optional<FoundOrder> timed(const Uniform& uniform, const ShortRows& rows);

}  // namespace ripeline::optimise
