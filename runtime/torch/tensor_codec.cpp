#include "runtime/torch/tensor_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

static_assert(std::endian::native == std::endian::little, "frames carry little-endian numbers");

constexpr std::array<char, 4> kMagic = {'R', 'T', 'N', '2'};
constexpr std::size_t kPrefix = 8;       // magic, dtype, dimensions, two zero bytes
constexpr std::size_t kDimensions = 16;  // at most

// The codes are part of the format: never renumbered.
constexpr std::array kTypes = {std::pair{1, torch::kFloat32}, std::pair{2, torch::kFloat64},
                               std::pair{3, torch::kFloat16}, std::pair{4, torch::kBFloat16},
                               std::pair{5, torch::kInt64},   std::pair{6, torch::kInt32},
                               std::pair{7, torch::kInt16},   std::pair{8, torch::kInt8},
                               std::pair{9, torch::kUInt8},   std::pair{10, torch::kBool}};

std::size_t head_size(std::size_t dimensions) {
  return kPrefix + dimensions * sizeof(std::int64_t);
}

Status malformed(const std::string& what) { return {StatusCode::invalid, "not a tensor: " + what}; }

// The bytes that a tensor of this shape takes, or nothing if that is no number of bytes.
bool data_size(const std::vector<std::int64_t>& shape, std::size_t item, std::size_t& bytes) {
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  std::size_t size = empty ? 0 : item;
  // Checked for empty tensors too: their strides are products of the other dimensions.
  std::size_t product = item;
  for (std::int64_t extent : shape) {
    if (extent < 0) return false;
    const auto factor = std::max<std::size_t>(static_cast<std::size_t>(extent), 1);
    if (product > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) / factor) {
      return false;
    }
    product *= factor;
  }
  if (!empty) size = product;
  bytes = size;
  return true;
}

}  // namespace

Status encode_tensor(const torch::Tensor& tensor, Payload& payload) {
  if (!tensor.defined()) return {StatusCode::invalid, "an undefined tensor has no payload"};
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&tensor](const auto& entry) {
    return entry.second == tensor.scalar_type();
  });
  if (type == kTypes.end() || !tensor.device().is_cpu() || tensor.layout() != torch::kStrided ||
      static_cast<std::size_t>(tensor.dim()) > kDimensions) {
    return {StatusCode::invalid, "no payload for a tensor " + tensor.toString() + " of " +
                                     std::to_string(tensor.dim()) +
                                     " dimensions: dense CPU tensors of at most 16 only"};
  }
  auto kept = std::make_shared<torch::Tensor>(tensor.detach().contiguous());
  const auto dimensions = static_cast<std::size_t>(kept->dim());
  payload.head.assign(head_size(dimensions), std::byte{0});
  std::byte* const head = payload.head.data();
  std::memcpy(head, kMagic.data(), kMagic.size());
  head[4] = static_cast<std::byte>(type->first);
  head[5] = static_cast<std::byte>(dimensions);
  if (dimensions > 0) {
    std::memcpy(head + kPrefix, kept->sizes().data(), dimensions * sizeof(std::int64_t));
  }
  payload.parts.clear();
  // Nobody writes to a part.
  auto* const data = static_cast<std::byte*>(const_cast<void*>(kept->const_data_ptr()));
  const std::size_t size = kept->nbytes();
  payload.parts.push_back({.data = data, .size = size, .keeper = std::move(kept)});
  return {};
}

Status decode_tensor(Payload payload, torch::Tensor& tensor) {
  const std::vector<std::byte>& head = payload.head;
  if (head.size() < kPrefix || std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0 ||
      head[6] != std::byte{0} || head[7] != std::byte{0}) {
    return malformed("it does not begin as one");
  }
  const int code = std::to_integer<int>(head[4]);
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(),
                                  [code](const auto& entry) { return entry.first == code; });
  if (type == kTypes.end()) return malformed("unknown type " + std::to_string(code));
  const auto dimensions = std::to_integer<std::size_t>(head[5]);
  if (dimensions > kDimensions) {
    return malformed(std::to_string(dimensions) + " dimensions, at most 16 are allowed");
  }
  if (head.size() != head_size(dimensions)) {
    return malformed("a head of " + std::to_string(head.size()) + " bytes for " +
                     std::to_string(dimensions) + " dimensions");
  }
  std::vector<std::int64_t> shape(dimensions);
  if (dimensions > 0) {
    std::memcpy(shape.data(), head.data() + kPrefix, dimensions * sizeof(std::int64_t));
  }
  std::size_t bytes = 0;
  if (!data_size(shape, torch::elementSize(type->second), bytes)) {
    return malformed("no such shape");
  }
  if (payload.parts.size() != 1 || payload.parts[0].device >= 0) {
    return malformed(std::to_string(payload.parts.size()) +
                     " parts, where one of this host's memory was expected");
  }
  const Bytes part = std::move(payload.parts[0]);
  if (bytes != part.size) {
    return malformed(std::to_string(part.size) + " bytes of data, the shape needs " +
                     std::to_string(bytes));
  }
  if (type->second == torch::kBool &&
      std::any_of(part.data, part.data + part.size,
                  [](std::byte value) { return std::to_integer<int>(value) > 1; })) {
    return malformed("a bool that is neither 0 nor 1");
  }
  const auto options = torch::TensorOptions().dtype(type->second);
  if (bytes == 0) {
    tensor = torch::empty(shape, options);
    return {};
  }
  tensor = torch::from_blob(
      part.data, shape, [keeper = part.keeper](void*) {}, options);
  return {};
}

}  // namespace ripeline::runtime
