#include "image.h"

#include <png.h>

#include "files/new_file.h"

namespace vlm {

using ripeline::core::Status;
using ripeline::core::StatusCode;

namespace {

// libpng's description of an image; the destructor frees its memory.
struct Png {
  Png() { header.version = PNG_IMAGE_VERSION; }
  ~Png() { png_image_free(&header); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  [[nodiscard]] Status failure() const { return {StatusCode::invalid, header.message}; }

  png_image header = {};
};

bool fits(png_uint_32 side) { return side > 0 && side <= kLongestSide && side % kPatch == 0; }

}  // namespace

Status read_png(const std::string& path, Image& image) {
  Png png;
  if (png_image_begin_read_from_file(&png.header, path.c_str()) == 0) return png.failure();
  const png_uint_32 width = png.header.width;
  const png_uint_32 height = png.header.height;
  if (!fits(width) || !fits(height)) {
    return {StatusCode::invalid, "it is " + std::to_string(width) + " x " + std::to_string(height) +
                                     " pixels; sides are multiples of " + std::to_string(kPatch) +
                                     ", at most " + std::to_string(kLongestSide)};
  }
  png.header.format = PNG_FORMAT_RGB;
  image.width = static_cast<int>(width);
  image.height = static_cast<int>(height);
  image.pixels.resize(PNG_IMAGE_SIZE(png.header));
  const png_color black = {};
  if (png_image_finish_read(&png.header, &black, image.pixels.data(), 0, nullptr) == 0) {
    return png.failure();
  }
  return {};
}

Status write_png(const std::string& path, const Image& image) {
  Png png;
  png.header.width = static_cast<png_uint_32>(image.width);
  png.header.height = static_cast<png_uint_32>(image.height);
  png.header.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png.header);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&png.header, bytes.data(), &size, 0, image.pixels.data(), 0,
                                nullptr) == 0) {
    return png.failure();
  }
  return ripeline::files::write_file(path, std::string_view(bytes).substr(0, size));
}

}  // namespace vlm
