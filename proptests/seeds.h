// Draws that use their whole range from the first case on. RapidCheck's own draws begin small,
// which suits structures, but not seeds or choices among events.
#pragma once

#include <rapidcheck.h>

#include <cstdint>

namespace ripeline::proptests {

[[nodiscard]] inline std::uint64_t any_seed() {
  return *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
}

// low <= result < high
template <class Int>
[[nodiscard]] Int any_of(Int low, Int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high));
}

}  // namespace ripeline::proptests
