// Orders of F, I and W for given costs and a limit of memory, found by search.
//
// In the manner of Zero Bubble (Qi and others, ICLR 2024; "Controllable Memory", NeurIPS 2024): the
// forwards and input gradients of each rank come in a given sequence, weight gradients fill the
// gaps before them and make room for forwards. Such sequences are tried: on a chain 1F1B's with
// warm-ups that a local search moves up and down, on a V placement building blocks and ZB-V's. The
// best of them are improved: a rank that would wait takes a later step that is ready, wherever the
// rest then still fits into the memory. The one with the least bubble by span, then by wall, is
// returned. Activations are held from F to W. It takes seconds, at 16 ranks about ten.
//
// The result is a legal order whatever the real costs are; only its bubble is for those given.
// Pure, deterministic, thread-safe; costs and times are in one unit of the caller's.
#pragma once

#include <cstdint>
#include <optional>

#include "pytorch/csv/actions.h"
#include "pytorch/lower.h"

namespace ripeline::spec {

struct ZeroBubbleRequest {
  Placement placement = Placement::chain;  // or v
  int ranks = 4;                           // > 0
  int microbatches = 8;                    // > 0
  std::int64_t forward = 1;                // of one stage; > 0, as the next two
  std::int64_t input = 1;
  std::int64_t weight = 1;
  std::int64_t latency = 0;  // of a message between ranks; >= 0
  int memory = 4;            // activations of one stage that a rank holds at most; > 0
};

struct ZeroBubbleOrder {
  ActionTable table;      // compute_only
  std::int64_t span = 0;  // largest over ranks of last end - first start
  std::int64_t wall = 0;  // last end of all
  int peak = 0;           // activations that a rank holds at most
  std::int64_t work = 0;  // of a rank
};

// Nothing: no order that was tried keeps to the memory (a V placement needs about two thirds of
// `ranks`, and at least 2).
[[nodiscard]] std::optional<ZeroBubbleOrder> zero_bubble_order(const ZeroBubbleRequest& request);

}  // namespace ripeline::spec
