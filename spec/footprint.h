// Footprint: an estimate of the memory that a step with some number of microbatches takes.
//
// A function that stores data for each task first estimates its memory here. It refuses a step that
// is too large, and names the greatest number of microbatches that fit. Pure.
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

// The reason why `microbatches` are too many, and how many fit; nullopt if `microbatches` fit.
[[nodiscard]] std::optional<std::string> too_large(const Program& program, int microbatches,
                                                   const KeptBytes& kept);

}  // namespace ripeline::spec
