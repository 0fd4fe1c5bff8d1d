// Zero Bubble's greedy, restated to be measured against: it makes an order of F, I and W on a chain
// for given costs and memory (Qi and others, "Zero Bubble Pipeline Parallelism", ICLR 2024).
//
// It goes microbatch by microbatch. First each rank runs forwards, until the first input gradient
// can come back to it or its memory is full. Then, in each turn, each rank from the first on runs
// one forward, and each rank from the last on one input gradient. Before these a rank fills the
// time that it would wait with weight gradients, and makes room with them where its memory is full.
// Three settings change that (GreedySettings); of the eight orders the one with the least span is
// taken. Pure; thread-safe.
#pragma once

#include <optional>

#include "optimise/uniform.h"

namespace ripeline::bench {

struct GreedySettings {
  // A forward before the first input gradient may end after that could start.
  bool delays_first_input = false;
  // A wait that is shorter than a weight gradient is filled too. Either way it stays where the rank
  // has then waited no longer than another one.
  bool fills_short_waits = false;
  // A forward is left for a later turn if the next rank is two behind and could not run it before
  // its next forward and input gradient have ended.
  bool leaves_early_forwards = false;
};

// Nothing: these settings make no order that fits.
[[nodiscard]] std::optional<optimise::FoundOrder> zero_bubble_greedy(
    const optimise::Uniform& chain, const GreedySettings& settings);

// The best by span of all settings, then by wall.
[[nodiscard]] std::optional<optimise::FoundOrder> zero_bubble_greedy(
    const optimise::Uniform& chain);

}  // namespace ripeline::bench
