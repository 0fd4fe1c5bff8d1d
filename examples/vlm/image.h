// Images, and PNG files of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace vlm {

struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;  // row by row from the top; red, green and blue of each
};

// A side is a multiple of this, the side of the patches that the model sees, and no longer than
// the other.
inline constexpr int kPatch = 8;
inline constexpr int kLongestSide = 128;

// Any PNG becomes RGB of 8 bits; what is transparent is drawn on black. Fails by status with what
// is wrong with the file, without its name; one whose sides do not fit is not decoded.
ripeline::core::Status read_png(const std::string& path, Image& image);
ripeline::core::Status write_png(const std::string& path, const Image& image);

}  // namespace vlm
