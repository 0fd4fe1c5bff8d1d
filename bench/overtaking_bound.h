// OvertakingBound: a time that no hint with ZB-H2's memory can beat if late messages are overtaken.
//
// On a chain of ranks, F, I and W take 1 each. A message takes `latency`; with the probability
// `share`, independently, it takes `tail` more, which is unknown until the message has arrived. A
// rank holds at most `held` activations, each from the start of an F to the end of its W. Then
//   - the last rank starts when its first message arrives, which belongs to one of the first `held`
//     forwards of rank 0, and the last rank then runs three tasks for each microbatch;
//   - before the last rank starts its k-th last I, it has run m - k F, m - 1 - k I and, to have
//     room for these F, m - k - held W. The message of this I then passes every rank, with a new
//     delay at each one, and at the end a W remains;
//   - before rank 0 starts its k-th last F, it has run m - 1 - k F and, to have room, m - k - held
//     I and as many W. The message of this F passes every rank, and its gradient comes back.
// A run takes at least the largest of these times, for all k except those of the first `held`
// microbatches. A rule may choose the k-th last microbatch, but cannot foresee its messages.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/draw.h"

namespace ripeline::bench {

struct Overtaking {
  int ranks = 8;
  int microbatches = 192;
  int held = 15;
  double latency = 0.05;
  double share = 0.02;
  double tail = 20;
};

class OvertakingBound {
 public:
  OvertakingBound(const Overtaking& of, std::uint64_t seed) : of_(of), seed_(seed) {}

  // The geometric mean of the bound over this many runs.
  [[nodiscard]] double time(int runs) {
    double logs = 0;
    for (int i = 0; i < runs; ++i) logs += std::log(one());
    return std::exp(logs / runs);
  }

 private:
  double one() {
    const int m = of_.microbatches;
    double first = 1e300;
    for (int j = 0; j < std::min(m, of_.held); ++j) first = std::min(first, j + pass());
    double latest = first + 3 * m;
    for (int k = 0; k < m - of_.held; ++k) {
      const int freed = m - k - of_.held;
      latest = std::max(latest, first + (m - k) + (m - 1 - k) + freed + 1 + pass() + 1);
      latest = std::max(latest, (m - 1 - k) + 2 * freed + pass() + 2 + hops() + 1);
    }
    return latest;
  }
  // The time of one task and one message on every rank but one, if no message is late.
  [[nodiscard]] double hops() const { return (of_.ranks - 1) * (1 + of_.latency); }
  double pass() {
    double late = 0;
    for (int hop = 0; hop + 1 < of_.ranks; ++hop) {
      const double u = static_cast<double>(core::draw_bits(seed_, {draws_++})) * 0x1.0p-53;
      if (u < of_.share) late += of_.tail;
    }
    return hops() + late;
  }

  Overtaking of_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
};

}  // namespace ripeline::bench
