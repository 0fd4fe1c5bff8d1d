// Orders of F, I and W in the manner of Zero Bubble (Qi and others, ICLR 2024; "Controllable
// Memory", NeurIPS 2024).
//
// The forwards and input gradients of each rank come in a given sequence, weight gradients fill the
// gaps before them and make room for forwards. Such sequences are tried: on a chain 1F1B's with
// warm-ups that a local search moves up and down, on a V placement building blocks and ZB-V's. The
// best of them are improved: a rank that would wait takes a later step that is ready, wherever the
// rest then still fits into the memory. Until it has tried all this it takes seconds, at 16 ranks
// about ten.
//
// On a V placement it finds nothing where the memory is below about two thirds of `ranks`, or 2.
// Pure, deterministic, thread-safe.
#pragma once

#include "optimise/search/incumbent.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

void zero_bubble_search(const Uniform& uniform, UniformIncumbent& incumbent);

}  // namespace ripeline::optimise
