// Random draws that are the same everywhere for the same seed, by splitmix64. Cheap to construct.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/task.h"

namespace ripeline::joint {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
  // 0 .. n - 1
  template <class Int>
  Int below(Int n) {
    return static_cast<Int>(bits() % static_cast<std::uint64_t>(n));
  }
  // low .. high
  template <class Int>
  Int between(Int low, Int high) {
    return static_cast<Int>(low + below(high - low + 1));
  }
  core::Time between(core::Time low, core::Time high) {
    return core::Time(between(low.count(), high.count()));
  }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace ripeline::joint
