// Footprint: how much memory a step of so many microbatches takes, before any of it is taken.
//
// Whoever keeps something of each task estimates it here and refuses what cannot be held, with the
// most microbatches that can. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spec/program.h"

namespace ripeline::spec {

// The most that a step may take, by estimate.
inline constexpr std::int64_t kMostBytes = 8'000'000'000;

// Bytes that are kept of each.
struct KeptBytes {
  std::int64_t task = 0;
  std::int64_t message = 0;
  std::int64_t microbatch = 0;
};

// Why a step of `microbatches` is not kept, and how many are; nothing: it fits.
[[nodiscard]] std::optional<std::string> too_large(const Program& program, int microbatches,
                                                   const KeptBytes& kept);

}  // namespace ripeline::spec
