// TensorShare: the part of a parameter that a member of a tensor-parallel rank has.
//
// Plain value.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace ripeline::runtime {

struct TensorShare {
  // The dimension along which the parameter is divided; -1 if each member has all of it.
  std::int64_t dimension = -1;
  // The number of equal blocks, each of which is divided; 3 if they are query, key and value.
  std::int64_t blocks = 1;
  int index = 0;  // among `count` members
  int count = 1;

  [[nodiscard]] bool is_part() const { return dimension >= 0 && count > 1; }
  // The share of the member with index `member` among `members`.
  [[nodiscard]] TensorShare of_member(int member, int members) const {
    return {dimension, blocks, member, members};
  }
  // Copies the part from `whole`. Throws std::invalid_argument if `whole` cannot be divided.
  [[nodiscard]] torch::Tensor part_of(const torch::Tensor& whole) const;
  // Writes the part to its position in `whole`.
  void put(const torch::Tensor& part, torch::Tensor& whole) const;
};

}  // namespace ripeline::runtime
