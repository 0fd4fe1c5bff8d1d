#include "view/palette.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace ripeline::view {
namespace {

using core::OpKind;

// An op's colour if ranks have one chunk, and its colours for the first and the last of several.
struct Tint {
  Colour only;
  Colour first;
  Colour last;
};

// Each column goes from light to dark: a forward is light, a backward dark, its halves between. The
// first chunks are dark enough for white text, the last ones light enough for black.
constexpr Tint kSky{{0xa6, 0xd4, 0xf5}, {0x27, 0x7c, 0xb5}, {0xc3, 0xe7, 0xff}};
constexpr Tint kAmber{{0xe8, 0xa0, 0x1c}, {0x7e, 0x52, 0x03}, {0xee, 0xbf, 0x17}};
constexpr Tint kTeal{{0x20, 0x94, 0x78}, {0x03, 0x51, 0x42}, {0x85, 0xb4, 0xa2}};
constexpr Tint kVermilion{{0xa8, 0x32, 0x0b}, {0x5d, 0x11, 0x01}, {0xd5, 0x7a, 0x5f}};
constexpr Tint kPlum{{0x8f, 0x2f, 0x8c}, {0x27, 0x00, 0x1e}, {0xbe, 0x9f, 0xc8}};
constexpr Tint kNavy{{0x0c, 0x1e, 0x48}, {0x09, 0x00, 0x42}, {0x81, 0x76, 0xeb}};
constexpr Tint kMint{{0xe4, 0xf4, 0xd8}, {0x42, 0x53, 0x2e}, {0xa9, 0xcb, 0x75}};
constexpr Tint kRose{{0xd6, 0x7f, 0xb0}, {0x94, 0x11, 0x7b}, {0xfe, 0xb8, 0xca}};
constexpr Tint kSteel{{0x4a, 0x66, 0xb0}, {0x3e, 0x2c, 0xab}, {0x8f, 0xb9, 0xff}};
constexpr Tint kSand{{0xbd, 0xb4, 0x8a}, {0x79, 0x74, 0x63}, {0xfe, 0xe2, 0x6d}};

const Tint& of_kind(OpKind kind) {
  switch (kind) {
    case OpKind::forward:
      return kSky;
    case OpKind::backward:
      return kVermilion;
    case OpKind::backward_input:
      return kAmber;
    case OpKind::backward_weight:
      return kTeal;
    case OpKind::reduce:
      return kNavy;
    case OpKind::offload:
      return kRose;
    case OpKind::reload:
      return kMint;
    case OpKind::recompute:
      return kPlum;
    case OpKind::user:
      return kSteel;
    case OpKind::plain:
      return kSand;
  }
  return kSand;
}

// The tint of each op; further ops of one kind take the unused tints in turn.
std::vector<const Tint*> tints_of(const core::ProgramFacts& facts) {
  static constexpr std::array kAll = {&kSky,  &kVermilion, &kAmber, &kTeal,  &kPlum,
                                      &kSand, &kNavy,      &kRose,  &kSteel, &kMint};
  std::vector<const Tint*> tints;
  for (const core::OpFacts& op : facts.ops) tints.push_back(&of_kind(op.kind));
  for (std::size_t i = 0; i < tints.size(); ++i) {
    const auto first = std::find(tints.begin(), tints.end(), tints[i]);
    if (first == tints.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    for (const Tint* free : kAll) {
      if (std::find(tints.begin(), tints.end(), free) != tints.end()) continue;
      tints[i] = free;
      break;
    }
  }
  return tints;
}

// The colour at the fraction `part` of the way from one colour to the other.
Colour between(Colour from, Colour to, double part) {
  const auto channel = [part](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + part * (b - a)));
  };
  return {channel(from.red, to.red), channel(from.green, to.green), channel(from.blue, to.blue)};
}

double linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

}  // namespace

std::string hex(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

double luminance(Colour colour) {
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

double contrast(Colour a, Colour b) {
  const double first = luminance(a) + 0.05;
  const double second = luminance(b) + 0.05;
  return std::max(first, second) / std::min(first, second);
}

int chunks_of(const core::ProgramFacts& facts) {
  int last = 0;
  for (const core::LaneFacts& lane : facts.lanes) last = std::max(last, lane.chunk);
  return last + 1;
}

Palette::Palette(const core::ProgramFacts& facts) : chunks_(chunks_of(facts)) {
  for (const Tint* tint : tints_of(facts)) {
    if (chunks_ == 1) shades_.push_back(tint->only);
    for (int chunk = 0; chunks_ > 1 && chunk < chunks_; ++chunk) {
      const double part = static_cast<double>(chunk) / (chunks_ - 1);
      shades_.push_back(between(tint->first, tint->last, part));
    }
  }
}

Colour ink_on(Colour colour) {
  return contrast(colour, kBlack) >= contrast(colour, kWhite) ? kBlack : kWhite;
}

Colour colour_of(trace::Cause cause) {
  switch (cause) {
    case trace::Cause::room:
      return {0xf6, 0xe3, 0xe6};
    case trace::Cause::slot:
      return {0xf3, 0xec, 0xd6};
    case trace::Cause::order:
    case trace::Cause::hold:
    case trace::Cause::agreement:
      return {0xe6, 0xe3, 0xf3};
    case trace::Cause::host:
      return {0xdd, 0xf0, 0xe5};
    default:
      return {0xf1, 0xf1, 0xf1};
  }
}

}  // namespace ripeline::view
