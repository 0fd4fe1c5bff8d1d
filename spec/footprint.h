// Footprint: the memory that a step of so many microbatches would take, as an estimate.
//
// A function that keeps data for each task estimates its memory here first; it refuses a step that
// is too large, and names the most microbatches that fit. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spec/program.h"

namespace ripeline::spec {

// The most bytes that a step may take, by estimate.
inline constexpr std::int64_t kMostBytes = 8'000'000'000;

// The bytes that are kept for each task, message and microbatch.
struct KeptBytes {
  std::int64_t task = 0;
  std::int64_t message = 0;
  std::int64_t microbatch = 0;
};

// The reason why `microbatches` are too many, with the most that fit; nothing if they fit.
[[nodiscard]] std::optional<std::string> too_large(const Program& program, int microbatches,
                                                   const KeptBytes& kept);

}  // namespace ripeline::spec
