// Pseudo-random numbers that depend on the arguments alone, never on time or on earlier calls.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace ripeline::core {

// A number of 53 random bits that depends on the seed and `words` alone, by splitmix64.
inline std::uint64_t draw_bits(std::uint64_t seed, std::initializer_list<std::uint64_t> words) {
  std::uint64_t x = seed;
  for (const std::uint64_t word : words) {
    x += word + 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
  }
  return x >> 11;
}

}  // namespace ripeline::core
