// Orders of F, I and W in the manner of Zero Bubble (Qi and others, ICLR 2024; "Controllable
// Memory", NeurIPS 2024).
//
// Each rank has a given sequence of forwards and input gradients; weight gradients fill the gaps
// in the sequence and make room for forwards. On a chain the search tries 1F1B's sequences, with
// warm-ups that a local search changes; on a V placement it tries building blocks and ZB-V's
// sequence. Then the best sequences are improved: a rank that would wait takes a later step that
// is ready, if the remaining steps still fit into the memory. The search takes seconds; at 16
// ranks about ten.
//
// On a V placement it finds nothing if the memory is below about two thirds of `ranks`, or 2.
// Pure, deterministic, thread-safe.
#pragma once

#include "optimise/search/incumbent.h"
#include "optimise/uniform.h"

namespace ripeline::optimise {

void zero_bubble_search(const Uniform& uniform, UniformIncumbent& incumbent);

}  // namespace ripeline::optimise
