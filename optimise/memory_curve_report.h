// The output of `ripeline optimise --memory A..B`, as text, as JSON (docs/formats.md) and as SVG.
//
// Pure functions; never throw.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "optimise/memory_curve.h"

namespace ripeline::optimise {

// A line about one memory, to show progress. The line and memory_curve_text() end with a newline.
[[nodiscard]] std::string curve_point_text(const CurvePoint& point, Objective objective);
// The curve as a table.
[[nodiscard]] std::string memory_curve_text(const MemoryCurve& curve);
[[nodiscard]] nlohmann::json memory_curve_json(const MemoryCurve& curve);
// The curve as an SVG image; empty if no memory has an order.
[[nodiscard]] std::string memory_curve_svg(const MemoryCurve& curve, int width);

}  // namespace ripeline::optimise
