// Batches: what each microbatch of each step is, as tensors.
//
// A microbatch has examples of one size of image, so microbatches differ in what they take. Which
// follows from seed, step and microbatch alone: every rank, schedule and run sees the same.
// Immutable.
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
  // `batch` examples in a microbatch.
  Batches(std::vector<Example> examples, int batch, std::uint64_t seed);

  // The examples of a microbatch: of the step's inputs, that which the program's `inputs` puts
  // there. All have the same number of patches.
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
  // The loss of the best model of these captions that does not see the images: their entropy, in
  // nats per word. A model that knows the captions by heart and guesses among them has it.
  [[nodiscard]] double blind_loss() const;

 private:
  static constexpr int kBeginAndEnd = 0;
  static constexpr int kFirstWord = 1;

  [[nodiscard]] Picked draw(std::int64_t step, int input) const;
  [[nodiscard]] torch::Tensor rows(const Picked& picked, std::ptrdiff_t from,
                                   std::int64_t padding) const;

  std::vector<Example> examples_;
  std::vector<std::vector<std::int64_t>> words_;  // per example: begin, its words, end
  std::map<std::string, int> numbers_;            // per word, in the words' order
  std::map<std::pair<int, int>, Picked> by_size_;
  int batch_;
  std::uint64_t seed_;
};

}  // namespace vlm
