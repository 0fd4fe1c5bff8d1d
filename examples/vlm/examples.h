// Examples to train on: images with captions, drawn from a seed or read from a folder.
//
// A folder has PNG files and `captions.txt`, a line `file<TAB>caption` for each.
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

// A shape of some colour, size and place on a noisy background of some size, and a caption that
// says so: `a small red circle at the top left`. Example i follows from the seed and i alone.
[[nodiscard]] std::vector<Example> make_examples(int count, std::uint64_t seed);

// Makes the folder if there is none; refuses one that has captions.
ripeline::core::Status write_examples(const std::string& folder,
                                      const std::vector<Example>& examples);
// Fails by status with file and line.
ripeline::core::Status read_examples(const std::string& folder, std::vector<Example>& examples);

// A hash of all that is in them.
[[nodiscard]] std::uint64_t digest_of(const std::vector<Example>& examples);

}  // namespace vlm
