// The search for good orders of a Uniform problem, without a solver.
//
// It has a first order at once, then reports each that is better, and ends when the objective
// equals a lower bound or when it is told to stop. In this order it tries: rules that a rank
// follows (a chain), the search in the manner of Zero Bubble, and then, until it ends, moves on the
// critical path, with orders of few microbatches that are lengthened to many.
//
// Deterministic: the same seed and the same number of answers of `go_on` give the same orders. Pure
// otherwise; thread-safe.
#pragma once

#include <cstdint>
#include <functional>

#include "optimise/search/incumbent.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

struct Limits {
  // Asked every few milliseconds; with more than 100,000 tasks it may be seconds. False ends it.
  std::function<bool()> go_on;
  std::uint64_t seed = 1;
};

// Each order that is better than all before goes to `better`, with the method that found it. There
// is none where the memory does not hold one microbatch: a V placement needs a memory of 2.
// `bound`: no order is below it; the search goes on until it is told to stop where none reaches it.
void search(const Uniform& uniform, Objective objective, std::int64_t bound, const Limits& limits,
            const Report& better);

}  // namespace ripeline::optimise
