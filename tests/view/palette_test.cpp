// Tests that colours differ in grey, and also for people who lack one kind of cone in their eyes.
#include "view/palette.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace ripeline::view {
namespace {

using core::OpKind;

// One op of each kind, so that a palette contains each kind's colour.
constexpr std::array<core::OpFacts, 10> kOps = {{{"F", OpKind::forward},
                                                 {"B", OpKind::backward},
                                                 {"I", OpKind::backward_input},
                                                 {"W", OpKind::backward_weight},
                                                 {"G", OpKind::reduce},
                                                 {"O", OpKind::offload},
                                                 {"L", OpKind::reload},
                                                 {"E", OpKind::recompute},
                                                 {"U", OpKind::user},
                                                 {"P", OpKind::plain}}};
constexpr std::size_t kUsual = 5;  // F, B, I, W and the reduction, which nearly all schedules have

// The shades of the ops, one op after another, on ranks with `chunks` chunks.
std::vector<Colour> colours_of(std::span<const core::OpFacts> ops, int chunks = 1) {
  const std::array<core::LaneFacts, 1> lanes = {
      {{.op = 0, .stage = 0, .rank = 0, .chunk = chunks - 1, .engine = core::Engine::compute}}};
  core::ProgramFacts facts{};
  facts.ops = ops;
  facts.lanes = lanes;
  const Palette palette(facts);
  std::vector<Colour> colours;
  for (std::size_t i = 0; i < palette.size(); ++i) colours.push_back(palette[i]);
  return colours;
}

using Vector = std::array<double, 3>;

double linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

Vector cie_lab(const Vector& rgb) {
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.95047);
  const double y = f(0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
  const double z = f((0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

// The matrices of Machado, Oliveira and Fernandes 2009, for severity 1, on linear RGB.
struct Eye {
  const char* name;
  std::array<Vector, 3> seen;
};
constexpr std::array<Eye, 4> kEyes = {{
    {"usual", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
    {"protanopia",
     {{{0.152286, 1.052583, -0.204868},
       {0.114503, 0.786281, 0.099216},
       {-0.003882, -0.048116, 1.051998}}}},
    {"deuteranopia",
     {{{0.367322, 0.860646, -0.227968},
       {0.280085, 0.672501, 0.047413},
       {-0.011820, 0.042940, 0.968881}}}},
    {"tritanopia",
     {{{1.255528, -0.076749, -0.178779},
       {-0.078411, 0.930809, 0.147602},
       {0.004733, 0.691367, 0.303900}}}},
}};

// The difference by CIE 1976; a difference of 2.3 is just visible.
double difference(const Eye& eye, Colour a, Colour b) {
  const auto look = [&](Colour colour) {
    const Vector rgb = {linear(colour.red), linear(colour.green), linear(colour.blue)};
    Vector out{};
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k) out[i] += eye.seen[i][k] * rgb[k];
      out[i] = std::clamp(out[i], 0.0, 1.0);
    }
    return cie_lab(out);
  };
  const Vector first = look(a);
  const Vector second = look(b);
  return std::hypot(first[0] - second[0], first[1] - second[1], first[2] - second[2]);
}

// The luma from 0 to 255, as video computes grey; luminance is the other way to compute grey.
double luma(Colour colour) {
  return 0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue;
}

TEST(Palette, the_usual_ops_differ_in_grey) {
  const std::vector<Colour> colours = colours_of(kOps);
  for (std::size_t a = 0; a < kUsual; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_GE(std::abs(luma(colours[a]) - luma(colours[b])), 25);
      EXPECT_GE(contrast(colours[a], colours[b]), 1.35) << kOps[a].name << " and " << kOps[b].name;
    }
  }
}

TEST(Palette, ops_differ_for_every_eye) {
  const std::vector<Colour> colours = colours_of(kOps);
  for (const Eye& eye : kEyes) {
    for (std::size_t a = 0; a < colours.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        EXPECT_GE(difference(eye, colours[a], colours[b]), a < kUsual ? 25 : 12)
            << eye.name << ": " << kOps[a].name << " and " << kOps[b].name;
      }
    }
  }
}

// The colours are listed op by op, with two chunks each: the first is dark, the second light. The
// colours of reductions, the last of the usual ops, differ less from the rest than the rest differ.
TEST(Palette, the_usual_ops_and_chunks_differ_in_grey) {
  const std::vector<Colour> colours = colours_of(kOps, 2);
  for (std::size_t a = 0; a < 2 * kUsual; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool same_chunk = a % 2 == b % 2;
      const bool reduction = a / 2 == kUsual - 1;
      EXPECT_GE(std::abs(luma(colours[a]) - luma(colours[b])), same_chunk && !reduction ? 15 : 7)
          << kOps[a / 2].name << a % 2 << " and " << kOps[b / 2].name << b % 2;
      EXPECT_GE(contrast(colours[a], colours[b]), same_chunk && !reduction ? 1.3 : 1.15)
          << kOps[a / 2].name << a % 2 << " and " << kOps[b / 2].name << b % 2;
    }
  }
}

TEST(Palette, ops_and_chunks_differ_for_every_eye) {
  const std::vector<Colour> colours = colours_of(kOps, 2);
  for (const Eye& eye : kEyes) {
    for (std::size_t a = 0; a < colours.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        EXPECT_GE(difference(eye, colours[a], colours[b]), a < 2 * kUsual ? 18 : 11)
            << eye.name << ": " << kOps[a / 2].name << a % 2 << " and " << kOps[b / 2].name
            << b % 2;
      }
    }
  }
}

TEST(Palette, text_is_white_on_the_first_of_two_chunks_and_black_on_the_second) {
  const std::vector<Colour> colours = colours_of(kOps, 2);
  for (std::size_t i = 0; i < colours.size(); ++i) {
    EXPECT_EQ(ink_on(colours[i]), i % 2 == 0 ? kWhite : kBlack) << hex(colours[i]);
    EXPECT_GE(contrast(colours[i], ink_on(colours[i])), 4.5) << hex(colours[i]);
  }
}

TEST(Palette, of_several_chunks_each_is_lighter_than_the_one_before) {
  for (const std::size_t chunks : {2U, 3U, 4U, 8U}) {
    const std::vector<Colour> colours = colours_of(kOps, static_cast<int>(chunks));
    ASSERT_EQ(colours.size(), kOps.size() * chunks);
    for (std::size_t i = 0; i < colours.size(); ++i) {
      if (i % chunks == 0) continue;
      EXPECT_GT(luminance(colours[i]), luminance(colours[i - 1]));
      if (chunks <= 4) {
        EXPECT_GE(contrast(colours[i], colours[i - 1]), 1.15) << kOps[i / chunks].name;
      }
      EXPECT_GE(contrast(colours[i], ink_on(colours[i])), 4.3) << hex(colours[i]);
    }
  }
}

TEST(Palette, numbers_can_be_read_on_every_op) {
  for (const Colour colour : colours_of(kOps)) {
    EXPECT_GE(contrast(colour, ink_on(colour)), 4.5) << hex(colour);
  }
}

TEST(Palette, idle_is_paler_than_any_op) {
  for (const auto cause :
       {trace::Cause::unknown, trace::Cause::input, trace::Cause::slot, trace::Cause::room,
        trace::Cause::order, trace::Cause::hold, trace::Cause::host}) {
    for (std::size_t i = 0; i < kUsual; ++i) {
      EXPECT_GT(luminance(colour_of(cause)), luminance(colours_of(kOps)[i]));
      EXPECT_GT(luminance(colour_of(cause)), luminance(colours_of(kOps, 2)[2 * i + 1]));
    }
    EXPECT_GE(contrast(colour_of(cause), kBlack), 12);
  }
}

TEST(Palette, ops_of_one_kind_have_colours_of_their_own) {
  constexpr std::array<core::OpFacts, 3> kPlain = {
      {{"X", OpKind::plain}, {"Y", OpKind::plain}, {"F", OpKind::forward}}};
  const std::vector<Colour> colours = colours_of(kPlain);
  EXPECT_NE(hex(colours[0]), hex(colours[1]));
  EXPECT_NE(hex(colours[1]), hex(colours[2]));
}

// The examples are those of WCAG.
TEST(Palette, contrast_is_that_of_wcag) {
  EXPECT_NEAR(contrast({0, 0, 0}, {255, 255, 255}), 21, 1e-9);
  EXPECT_NEAR(contrast({0x77, 0x77, 0x77}, {255, 255, 255}), 4.48, 0.005);
}

}  // namespace
}  // namespace ripeline::view
