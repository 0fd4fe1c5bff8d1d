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
  std::vector<std::uint8_t> pixels;  // by row from the top; red, green and blue of each
};

// The sides of an image are multiples of kPatch, the side of the patches that the model sees, and
// are at most kLongestSide.
inline constexpr int kPatch = 8;
inline constexpr int kLongestSide = 128;

// Reads any PNG as RGB of 8 bits, with transparent pixels drawn on black. Fails by status, which
// describes the mistake without the file's name. An image with unsuitable sides is not decoded.
ripeline::core::Status read_png(const std::string& path, Image& image);
ripeline::core::Status write_png(const std::string& path, const Image& image);

}  // namespace vlm
