// Zero Bubble's greedy, as a baseline: a method that makes an order of F, I and W on a chain for
// given costs and memory (Qi and others, "Zero Bubble Pipeline Parallelism", ICLR 2024).
//
// First each rank runs forwards, until its first input gradient can arrive or its memory is full.
// Then turns follow, one per microbatch. In each turn every rank, from the first to the last, runs
// one forward; then every rank, from the last to the first, runs one input gradient. A rank fills
// its waits for these with weight gradients, and also runs some to make room if its memory is full.
// Three settings change this (GreedySettings). Of the eight resulting orders the one with the least
// span is returned. Pure; thread-safe.
#pragma once

#include <optional>

#include "optimise/uniform.h"

namespace ripeline::bench {

struct GreedySettings {
  // A forward before the first input gradient may end after that gradient could have started.
  bool delays_first_input = false;
  // A wait that is shorter than a weight gradient is filled, too, unless the rank, including that
  // wait, has waited no longer than some other rank.
  bool fills_short_waits = false;
  // A forward is left for a later turn if the next rank has run at least two forwards less, and
  // could not run this forward before its own next forward and input gradient.
  bool leaves_early_forwards = false;
};

// Makes the order for these settings; nullopt if it does not fit.
[[nodiscard]] std::optional<optimise::FoundOrder> zero_bubble_greedy(
    const optimise::Uniform& chain, const GreedySettings& settings);

// The order with the least span, and then the least makespan, over all settings.
[[nodiscard]] std::optional<optimise::FoundOrder> zero_bubble_greedy(
    const optimise::Uniform& chain);

}  // namespace ripeline::bench
