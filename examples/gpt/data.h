// Batches: the training text, and the batches that are drawn from it.
//
// A batch depends only on seed, step and microbatch, so it is the same on every rank, under every
// schedule and in every run.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace gpt {

// Reads a file, or all regular files of a folder, sorted by name and without symbolic links. Fails
// by status if there are fewer than `least` bytes.
ripeline::core::Status read_text(const std::string& path, std::size_t least,
                                 std::vector<std::uint8_t>& text);

struct Batches {
  std::vector<std::uint8_t> text;
  std::int64_t batch = 4;
  std::int64_t context = 64;
  std::uint64_t seed = 1;

  // Tensors [batch, context]: input() has bytes of the text, labels() the byte after each of these.
  [[nodiscard]] torch::Tensor input(std::int64_t step, int microbatch) const;
  [[nodiscard]] torch::Tensor labels(std::int64_t step, int microbatch) const;

 private:
  [[nodiscard]] torch::Tensor window(std::int64_t step, int microbatch, std::int64_t shift) const;
};

}  // namespace gpt
