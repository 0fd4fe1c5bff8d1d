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

constexpr std::array<char, 4> kMagic = {'R', 'T', 'N', '1'};
constexpr std::size_t kPrefix = 8;       // magic, dtype, dimensions, two zero bytes
constexpr std::size_t kAlignment = 16;   // of the data, from the start of the payload
constexpr std::size_t kDimensions = 16;  // at most

// The codes are part of the format: never renumbered.
constexpr std::array kTypes = {std::pair{1, torch::kFloat32}, std::pair{2, torch::kFloat64},
                               std::pair{3, torch::kFloat16}, std::pair{4, torch::kBFloat16},
                               std::pair{5, torch::kInt64},   std::pair{6, torch::kInt32},
                               std::pair{7, torch::kInt16},   std::pair{8, torch::kInt8},
                               std::pair{9, torch::kUInt8},   std::pair{10, torch::kBool}};

std::size_t data_offset(std::size_t dimensions) {
  const std::size_t header = kPrefix + dimensions * sizeof(std::int64_t);
  return (header + kAlignment - 1) / kAlignment * kAlignment;
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
  const torch::Tensor dense = tensor.detach().contiguous();
  const auto dimensions = static_cast<std::size_t>(dense.dim());
  std::array<std::byte, kPrefix + kDimensions * sizeof(std::int64_t) + kAlignment> header{};
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  header[4] = static_cast<std::byte>(type->first);
  header[5] = static_cast<std::byte>(dimensions);
  std::memcpy(header.data() + kPrefix, dense.sizes().data(), dimensions * sizeof(std::int64_t));
  const std::size_t offset = data_offset(dimensions);
  const auto* data = static_cast<const std::byte*>(dense.const_data_ptr());
  const std::size_t bytes = dense.nbytes();
  payload.clear();
  payload.reserve(offset + bytes);  // and insert: a resize would write every byte twice
  payload.insert(payload.end(), header.data(), header.data() + offset);
  if (bytes > 0) payload.insert(payload.end(), data, data + bytes);
  return {};
}

Status decode_tensor(Payload payload, torch::Tensor& tensor) {
  if (payload.size() < kPrefix || std::memcmp(payload.data(), kMagic.data(), kMagic.size()) != 0 ||
      payload[6] != std::byte{0} || payload[7] != std::byte{0}) {
    return malformed("it does not begin as one");
  }
  const int code = std::to_integer<int>(payload[4]);
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(),
                                  [code](const auto& entry) { return entry.first == code; });
  if (type == kTypes.end()) return malformed("unknown type " + std::to_string(code));
  const auto dimensions = std::to_integer<std::size_t>(payload[5]);
  if (dimensions > kDimensions) {
    return malformed(std::to_string(dimensions) + " dimensions, at most 16 are allowed");
  }
  const std::size_t offset = data_offset(dimensions);
  if (payload.size() < offset) return malformed("it ends within the shape");
  std::vector<std::int64_t> shape(dimensions);
  if (dimensions > 0) {
    std::memcpy(shape.data(), payload.data() + kPrefix, dimensions * sizeof(std::int64_t));
  }
  std::size_t bytes = 0;
  if (!data_size(shape, torch::elementSize(type->second), bytes)) {
    return malformed("no such shape");
  }
  if (bytes != payload.size() - offset) {
    return malformed(std::to_string(payload.size() - offset) + " bytes of data, the shape needs " +
                     std::to_string(bytes));
  }
  if (type->second == torch::kBool &&
      std::any_of(payload.begin() + static_cast<std::ptrdiff_t>(offset), payload.end(),
                  [](std::byte value) { return std::to_integer<int>(value) > 1; })) {
    return malformed("a bool that is neither 0 nor 1");
  }
  const auto options = torch::TensorOptions().dtype(type->second);
  if (bytes == 0) {
    tensor = torch::empty(shape, options);
    return {};
  }
  auto owner = std::make_shared<Payload>(std::move(payload));
  void* data = owner->data() + offset;
  tensor = torch::from_blob(
      data, shape, [owner = std::move(owner)](void*) {}, options);
  return {};
}

}  // namespace ripeline::runtime
