// Palette: the colours of pictures.
//
// An op has the colour of its kind; further ops of the same kind, such as a second plain op, take
// the unused colours in turn. If ranks have several chunks, an op's colour has a shade for each
// chunk, from the darkest, chunk 0, to the lightest. The kinds of one schedule differ in lightness
// and, with two chunks, so do all combinations of kind and chunk: they stay distinct in grey and
// for people who do not tell red from green. Text is black or white, whichever has more contrast;
// with two chunks it is white on the first and black on the second. With three and more chunks the
// shades alone are too similar, so pictures mark the chunk as well. tests/view/palette_test.cpp
// checks all of this. Pure functions.
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
inline constexpr Colour kHeld{0x7d, 0x85, 0x90};  // the amounts that a rank holds

[[nodiscard]] std::string hex(Colour colour);  // #1f77b4
// The relative luminance, and the contrast ratio of two colours, from 1 to 21, as in WCAG 2.
[[nodiscard]] double luminance(Colour colour);
[[nodiscard]] double contrast(Colour a, Colour b);

// The largest number of stages on any rank.
[[nodiscard]] int chunks_of(const core::ProgramFacts& facts);

// The shades of a program, sorted by op and then by chunk.
class Palette {
 public:
  explicit Palette(const core::ProgramFacts& facts);
  [[nodiscard]] int chunks() const { return chunks_; }
  // The number of ops times the number of chunks.
  [[nodiscard]] std::size_t size() const { return shades_.size(); }
  [[nodiscard]] std::size_t index(int op, int chunk) const {
    return static_cast<std::size_t>(op * chunks_ + chunk);
  }
  [[nodiscard]] std::size_t index(const core::LaneFacts& lane) const {
    return index(lane.op, lane.chunk);
  }
  [[nodiscard]] Colour operator[](std::size_t index) const { return shades_[index]; }

 private:
  int chunks_ = 1;
  std::vector<Colour> shades_;
};

// The colour of text on `colour`: black or white.
[[nodiscard]] Colour ink_on(Colour colour);
// The colour of an idle interval, which is paler than that of any op.
[[nodiscard]] Colour colour_of(trace::Cause cause);

}  // namespace ripeline::view
