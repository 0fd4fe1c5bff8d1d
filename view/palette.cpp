#include "view/palette.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace ripeline::view {
namespace {

using core::OpKind;

// From light to dark: a forward is light, a backward dark, its halves between.
constexpr Colour kSky{0xa6, 0xd4, 0xf5};
constexpr Colour kAmber{0xe8, 0xa0, 0x1c};
constexpr Colour kTeal{0x20, 0x94, 0x78};
constexpr Colour kVermilion{0xa8, 0x32, 0x0b};
constexpr Colour kPlum{0x8f, 0x2f, 0x8c};
constexpr Colour kNavy{0x0c, 0x1e, 0x48};
constexpr Colour kMint{0xe4, 0xf4, 0xd8};
constexpr Colour kRose{0xd6, 0x7f, 0xb0};
constexpr Colour kSteel{0x4a, 0x66, 0xb0};
constexpr Colour kSand{0xbd, 0xb4, 0x8a};

Colour of_kind(OpKind kind) {
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

std::vector<Colour> op_colours(const core::ProgramFacts& facts) {
  static constexpr std::array kAll = {kSky,  kVermilion, kAmber, kTeal,  kPlum,
                                      kSand, kNavy,      kRose,  kSteel, kMint};
  std::vector<Colour> colours;
  for (const core::OpFacts& op : facts.ops) colours.push_back(of_kind(op.kind));
  for (std::size_t i = 0; i < colours.size(); ++i) {
    const auto first = std::find(colours.begin(), colours.end(), colours[i]);
    if (first == colours.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    for (const Colour& free : kAll) {
      if (std::find(colours.begin(), colours.end(), free) != colours.end()) continue;
      colours[i] = free;
      break;
    }
  }
  return colours;
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
    default:
      return {0xf1, 0xf1, 0xf1};
  }
}

}  // namespace ripeline::view
