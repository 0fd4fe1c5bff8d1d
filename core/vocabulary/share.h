// Share: which microbatches a lane has.
//
// `on m where m % 2 == 0` gives a lane every other one. A share repeats with a period, so that it
// is known for every count of microbatches. A plain value.
#pragma once

#include <bit>
#include <cstdint>

namespace ripeline::core {

struct Share {
  static constexpr int kLongestPeriod = 64;

  int period = 1;                // 1 .. kLongestPeriod, the shortest that says it
  std::uint64_t remainders = 1;  // bit i: the lane has those m for which m % period == i

  [[nodiscard]] constexpr bool is_all() const { return period == 1 && remainders == 1; }
  [[nodiscard]] constexpr bool has(int m) const { return (remainders >> (m % period) & 1U) != 0; }
  // In each period.
  [[nodiscard]] constexpr int size() const { return std::popcount(remainders); }
  // How many it has of 0 .. m-1.
  [[nodiscard]] constexpr int below(int m) const {
    if (is_all()) return m;
    const std::uint64_t started = (std::uint64_t{1} << (m % period)) - 1;
    return m / period * size() + std::popcount(remainders & started);
  }
  // Its k-th, from 0 on.
  [[nodiscard]] constexpr int microbatch(int k) const {
    if (is_all()) return k;
    std::uint64_t left = remainders;
    for (int skipped = k % size(); skipped > 0; --skipped) left &= left - 1;
    return k / size() * period + std::countr_zero(left);
  }
  constexpr bool operator==(const Share&) const = default;
};

}  // namespace ripeline::core
