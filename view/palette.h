// Palette: the colours of pictures.
//
// An op's colour is its kind's; ops of one kind, as two plain ones, take the unused ones in turn.
// The kinds of one schedule differ in lightness, so that they stay apart in grey and for eyes that
// do not tell red from green; text on each is black or white, whichever stands out more
// (tests/view/palette_test.cpp computes both). Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/facts.h"
#include "trace/record.h"

namespace ripeline::view {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  bool operator==(const Colour&) const = default;
};

inline constexpr Colour kBlack{0x11, 0x11, 0x11};
inline constexpr Colour kWhite{0xff, 0xff, 0xff};

[[nodiscard]] std::string hex(Colour colour);  // #1f77b4
// Relative luminance, and the ratio of two from 1 to 21, as WCAG 2 defines them.
[[nodiscard]] double luminance(Colour colour);
[[nodiscard]] double contrast(Colour a, Colour b);

// Per op of the program.
[[nodiscard]] std::vector<Colour> op_colours(const core::ProgramFacts& facts);
// Black or white.
[[nodiscard]] Colour ink_on(Colour colour);
// Of an idle interval: pale, paler than any op.
[[nodiscard]] Colour colour_of(trace::Cause cause);

}  // namespace ripeline::view
