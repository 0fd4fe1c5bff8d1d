// The output of `ripeline optimise --memory A..B`, as text and as JSON (docs/formats.md).
//
// Pure functions; never throw.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "optimise/memory_curve.h"

namespace ripeline::optimise {

// A line about one memory, for progress; ends with a newline, as the next one.
[[nodiscard]] std::string curve_point_text(const CurvePoint& point, Objective objective);
// A table.
[[nodiscard]] std::string memory_curve_text(const MemoryCurve& curve);
[[nodiscard]] nlohmann::json memory_curve_json(const MemoryCurve& curve);

}  // namespace ripeline::optimise
