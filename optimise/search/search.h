// The search for good orders of a Problem, without a solver.
//
// It has a first order at once, then reports each that is better, and ends when the objective
// equals a lower bound or when it is told to stop. First it tries what the program's own dispatch
// does. Of an even model, or of the one nearest to the program, it tries what is known of such
// models: rules that a rank follows (a chain), and the search in the manner of Zero Bubble. Of any
// program that is not even, and of a large V placement with little memory, it tries one microbatch
// after the other, and rules drawn at random.
// Then, until it ends: moves on the critical path, and orders of few microbatches that are
// lengthened.
//
// Deterministic: the same seed and the same number of answers of `go_on` give the same orders. Pure
// otherwise; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "optimise/problem.h"

namespace ripeline::optimise {

struct Limits {
  // Asked every few milliseconds; with more than 100,000 tasks it may be seconds. False ends it.
  std::function<bool()> go_on;
  std::uint64_t seed = 1;
  // Asked at the beginning and now and then: an order that was found elsewhere, better than all
  // that were reported. Moves go on from it; it is not reported.
  std::function<std::optional<Found>()> elsewhere = {};
};

// Each order that is better than all before goes to `better`, with the method that found it. There
// may be none: the memory does not hold one microbatch, or only orders of another kind fit.
// `bound`: no order is below it; the search goes on until it is told to stop where none reaches it.
void search(const Problem& problem, Time bound, const Limits& limits,
            const std::function<void(const Found& order, std::string_view method)>& better);

}  // namespace ripeline::optimise
