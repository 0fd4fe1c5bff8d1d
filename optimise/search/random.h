// The random numbers of a search. The same seed gives the same numbers on every machine.
#pragma once

#include <cstdint>

namespace ripeline::optimise {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // A number from 0 to below - 1. `below` must be from 1 to 2^32.
  std::uint64_t draw(std::uint64_t below) {
    state_ += 0x9e3779b97f4a7c15U;  // splitmix64
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    mixed ^= mixed >> 31U;
    return ((mixed >> 32U) * below) >> 32U;
  }

 private:
  std::uint64_t state_;
};

}  // namespace ripeline::optimise
