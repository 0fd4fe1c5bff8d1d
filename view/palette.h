// Palette: the colours of pictures.
//
// An op's colour is its kind's; ops of one kind, as two plain ones, take the unused ones in turn.
// Where ranks have several chunks, an op's colour has a shade for each of them, from the darkest,
// chunk 0, to the lightest. The kinds of one schedule differ in lightness, and so do, of two
// chunks, any two of kind and chunk: they stay apart in grey and for eyes that do not tell red from
// green. Text is black or white, whichever stands out more; of two chunks it is white on the first
// and black on the second. Of three and more chunks the shades alone are too near to each other,
// so pictures mark the chunk as well. tests/view/palette_test.cpp computes all of this. Pure
// functions.
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
// Relative luminance, and the ratio of two from 1 to 21, as WCAG 2 defines them.
[[nodiscard]] double luminance(Colour colour);
[[nodiscard]] double contrast(Colour a, Colour b);

// How many stages a rank has at most.
[[nodiscard]] int chunks_of(const core::ProgramFacts& facts);

// The shades of a program, op by op and within an op chunk by chunk.
class Palette {
 public:
  explicit Palette(const core::ProgramFacts& facts);
  [[nodiscard]] int chunks() const { return chunks_; }
  // Ops times chunks.
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

// Black or white.
[[nodiscard]] Colour ink_on(Colour colour);
// The colour of an idle interval: pale, paler than any op.
[[nodiscard]] Colour colour_of(trace::Cause cause);

}  // namespace ripeline::view
