// Batches: the tensors of each microbatch of each step.
//
// All images of a microbatch have the same size, so times differ between microbatches. A
// microbatch's examples depend only on seed, step and microbatch, so they are the same on every
// rank, under every schedule and in every run. Immutable.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/facts.h"
#include "examples.h"

namespace vlm {

class Batches {
 public:
  // A microbatch has `batch` examples.
  Batches(std::vector<Example> examples, int batch, std::uint64_t seed);

  // Returns the numbers of a microbatch's examples. The program's `inputs` decides which input of
  // the step the microbatch gets. All images have the same number of patches.
  using Picked = std::vector<std::size_t>;
  [[nodiscard]] Picked pick(ripeline::core::InputOrder order, std::int64_t step, int microbatches,
                            int microbatch) const;

  [[nodiscard]] torch::Tensor images(const Picked& picked) const;    // [batch, 3, height, width]
  [[nodiscard]] torch::Tensor captions(const Picked& picked) const;  // [batch, words] begin, a, …
  [[nodiscard]] torch::Tensor labels(const Picked& picked) const;    // [batch, words] a, …, end
  [[nodiscard]] std::int64_t patches(const Picked& picked) const;    // in one image

  [[nodiscard]] std::size_t size() const { return examples_.size(); }
  [[nodiscard]] int vocabulary() const { return static_cast<int>(numbers_.size()) + kFirstWord; }
  [[nodiscard]] std::uint64_t digest() const { return digest_of(examples_); }
  // The least loss of a model that does not see the images, in nats per word. It is the entropy of
  // the captions; a model that knows all captions and guesses among them has this loss.
  [[nodiscard]] double blind_loss() const;

 private:
  static constexpr int kBeginAndEnd = 0;
  static constexpr int kFirstWord = 1;

  [[nodiscard]] Picked draw(std::int64_t step, int input) const;
  [[nodiscard]] torch::Tensor rows(const Picked& picked, std::ptrdiff_t from,
                                   std::int64_t padding) const;

  std::vector<Example> examples_;
  std::vector<std::vector<std::int64_t>> words_;  // per example: numbers of begin, its words, end
  std::map<std::string, int> numbers_;            // each word's number, in alphabetical order
  std::map<std::pair<int, int>, Picked> by_size_;
  int batch_;
  std::uint64_t seed_;
};

}  // namespace vlm
