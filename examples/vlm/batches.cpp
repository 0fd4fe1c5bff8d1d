#include "batches.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "core/input_order.h"

namespace vlm {
namespace {

constexpr std::int64_t kIgnored = -100;  // a label that the cross entropy ignores

std::vector<std::string> words_of(const std::string& caption) {
  std::istringstream in(caption);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

Batches::Batches(std::vector<Example> examples, int batch, std::uint64_t seed)
    : examples_(std::move(examples)), batch_(batch), seed_(seed) {
  for (const Example& example : examples_) {
    for (const std::string& word : words_of(example.caption)) numbers_[word] = 0;
  }
  int number = kFirstWord;
  for (auto& [word, its] : numbers_) its = number++;
  for (const Example& example : examples_) {
    by_size_[{example.image.width, example.image.height}].push_back(words_.size());
    std::vector<std::int64_t>& row = words_.emplace_back(1, kBeginAndEnd);
    for (const std::string& word : words_of(example.caption)) row.push_back(numbers_.at(word));
    row.push_back(kBeginAndEnd);
  }
}

// Draws the image size of a random example, and then examples whose images have that size.
Batches::Picked Batches::draw(std::int64_t step, int input) const {
  std::seed_seq mix{seed_, seed_ >> 32, static_cast<std::uint64_t>(step),
                    static_cast<std::uint64_t>(input)};
  std::mt19937_64 random(mix);
  const Image& first = examples_[random() % examples_.size()].image;
  const Picked& alike = by_size_.at({first.width, first.height});
  Picked picked;
  for (int i = 0; i < batch_; ++i) picked.push_back(alike[random() % alike.size()]);
  return picked;
}

Batches::Picked Batches::pick(ripeline::core::InputOrder order, std::int64_t step, int microbatches,
                              int microbatch) const {
  std::vector<std::int64_t> costs;
  for (int input = 0; input < microbatches; ++input) costs.push_back(patches(draw(step, input)));
  return draw(step, input_order(order, costs)[static_cast<std::size_t>(microbatch)]);
}

torch::Tensor Batches::images(const Picked& picked) const {
  std::vector<torch::Tensor> all;
  for (const std::size_t example : picked) {
    const Image& image = examples_[example].image;
    torch::Tensor pixels = torch::empty({image.height, image.width, 3}, torch::kUInt8);
    std::copy(image.pixels.begin(), image.pixels.end(), pixels.mutable_data_ptr<std::uint8_t>());
    all.push_back(pixels.permute({2, 0, 1}).to(torch::kFloat32) / 64 - 1);
  }
  return torch::stack(all);
}

torch::Tensor Batches::captions(const Picked& picked) const {
  return rows(picked, 0, kBeginAndEnd);
}

torch::Tensor Batches::labels(const Picked& picked) const { return rows(picked, 1, kIgnored); }

// Each row has all words of an example but one, from word `from` on, and is filled with `padding`.
torch::Tensor Batches::rows(const Picked& picked, std::ptrdiff_t from, std::int64_t padding) const {
  std::size_t longest = 0;
  for (const std::size_t example : picked) longest = std::max(longest, words_[example].size() - 1);
  torch::Tensor all =
      torch::full({static_cast<std::int64_t>(picked.size()), static_cast<std::int64_t>(longest)},
                  padding, torch::kInt64);
  auto* row = all.mutable_data_ptr<std::int64_t>();
  for (const std::size_t example : picked) {
    std::copy_n(words_[example].begin() + from, words_[example].size() - 1, row);
    row += longest;
  }
  return all;
}

std::int64_t Batches::patches(const Picked& picked) const {
  const Image& image = examples_[picked.front()].image;
  return std::int64_t{image.width / kPatch} * (image.height / kPatch);
}

double Batches::blind_loss() const {
  std::map<std::vector<std::int64_t>, double> counts;
  double predicted = 0;
  for (const auto& row : words_) {
    ++counts[row];
    predicted += static_cast<double>(row.size() - 1);
  }
  double nats = 0;
  for (const auto& [row, count] : counts) {
    nats -= count * std::log(count / static_cast<double>(words_.size()));
  }
  return nats / predicted;
}

}  // namespace vlm
