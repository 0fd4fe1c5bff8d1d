// Examples to train on: images with captions, drawn from a seed or read from a folder.
//
// A folder has PNG files and `captions.txt`, which has a line `file<TAB>caption` for each file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "image.h"

namespace vlm {

struct Example {
  Image image;
  std::string caption;  // words with blanks between them
};

inline constexpr int kMostWords = 31;  // in a caption

// Each image has a shape of some colour, size and position on a noisy background of some size. The
// caption names these: `a small red circle at the top left`. Example i depends only on seed and i.
[[nodiscard]] std::vector<Example> make_examples(int count, std::uint64_t seed);

// Makes the folder if it does not exist. Fails by status if it has captions already.
ripeline::core::Status write_examples(const std::string& folder,
                                      const std::vector<Example>& examples);
// Fails by status, which names the file and the line.
ripeline::core::Status read_examples(const std::string& folder, std::vector<Example>& examples);

// A hash of all images and captions.
[[nodiscard]] std::uint64_t digest_of(const std::vector<Example>& examples);

}  // namespace vlm
