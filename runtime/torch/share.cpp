#include "runtime/torch/share.h"

#include <ATen/core/grad_mode.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace ripeline::runtime {
namespace {

// The share's part of each block, as a view of the whole.
std::vector<torch::Tensor> views(const TensorShare& share, const torch::Tensor& whole) {
  const std::int64_t size = whole.size(share.dimension);
  const std::int64_t pieces = share.blocks * share.count;
  if (size % pieces != 0) {
    throw std::invalid_argument("a parameter of " + std::to_string(size) + " along dimension " +
                                std::to_string(share.dimension) + " cannot be divided into " +
                                std::to_string(pieces) + " equal parts, for " +
                                std::to_string(share.count) + " members");
  }
  std::vector<torch::Tensor> found;
  for (std::int64_t block = 0; block < share.blocks; ++block) {
    const std::int64_t first = (block * share.count + share.index) * (size / pieces);
    found.push_back(whole.slice(share.dimension, first, first + size / pieces));
  }
  return found;
}

}  // namespace

torch::Tensor TensorShare::part_of(const torch::Tensor& whole) const {
  const torch::NoGradGuard no_grad;
  if (!is_part()) return whole.detach().clone();
  return torch::cat(views(*this, whole.detach()), dimension).contiguous();
}

void TensorShare::put(const torch::Tensor& part, torch::Tensor& whole) const {
  const torch::NoGradGuard no_grad;
  if (!is_part()) {
    whole.copy_(part);
    return;
  }
  std::vector<torch::Tensor> to = views(*this, whole);
  const std::vector<torch::Tensor> from = part.chunk(blocks, dimension);
  for (std::size_t block = 0; block < to.size(); ++block) to[block].copy_(from[block]);
}

}  // namespace ripeline::runtime
