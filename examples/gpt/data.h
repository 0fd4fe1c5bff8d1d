// Text to train on, and its batches.
//
// A batch follows from seed, step and microbatch alone: every rank, schedule and run sees the
// same.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace gpt {

// Reads `path`, a file or a folder; of a folder all regular files, sorted by name, without
// symbolic links. Fails by status when there are fewer than `least` bytes.
ripeline::core::Status read_text(const std::string& path, std::size_t least,
                                 std::vector<std::uint8_t>& text);

struct Batches {
  std::vector<std::uint8_t> text;
  std::int64_t batch = 4;
  std::int64_t context = 64;
  std::uint64_t seed = 1;

  // [batch, context] bytes, and those that follow each of them.
  [[nodiscard]] torch::Tensor input(std::int64_t step, int microbatch) const;
  [[nodiscard]] torch::Tensor labels(std::int64_t step, int microbatch) const;

 private:
  [[nodiscard]] torch::Tensor window(std::int64_t step, int microbatch, std::int64_t shift) const;
};

}  // namespace gpt
