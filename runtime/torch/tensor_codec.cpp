#include "runtime/torch/tensor_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "runtime/tensor_head.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

static_assert(std::endian::native == std::endian::little, "data goes as it is in memory");

constexpr std::array kTypes = {std::pair{TensorType::float32, torch::kFloat32},
                               std::pair{TensorType::float64, torch::kFloat64},
                               std::pair{TensorType::float16, torch::kFloat16},
                               std::pair{TensorType::bfloat16, torch::kBFloat16},
                               std::pair{TensorType::int64, torch::kInt64},
                               std::pair{TensorType::int32, torch::kInt32},
                               std::pair{TensorType::int16, torch::kInt16},
                               std::pair{TensorType::int8, torch::kInt8},
                               std::pair{TensorType::uint8, torch::kUInt8},
                               std::pair{TensorType::boolean, torch::kBool}};

}  // namespace

Status encode_tensor(const torch::Tensor& tensor, Payload& payload) {
  if (!tensor.defined()) return {StatusCode::invalid, "an undefined tensor has no payload"};
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&tensor](const auto& entry) {
    return entry.second == tensor.scalar_type();
  });
  if (type == kTypes.end() || !tensor.device().is_cpu() || tensor.layout() != torch::kStrided ||
      static_cast<std::size_t>(tensor.dim()) > kMostDimensions) {
    return {StatusCode::invalid, "no payload for a tensor " + tensor.toString() + " of " +
                                     std::to_string(tensor.dim()) +
                                     " dimensions: dense CPU tensors of at most 16 only"};
  }
  auto kept = std::make_shared<torch::Tensor>(tensor.detach().contiguous());
  payload.head = encode_head({type->first, kept->sizes().vec()});
  payload.parts.clear();
  // Nobody writes to a part.
  auto* const data = static_cast<std::byte*>(const_cast<void*>(kept->const_data_ptr()));
  const std::size_t size = kept->nbytes();
  payload.parts.push_back({.data = data, .size = size, .keeper = std::move(kept)});
  return {};
}

Status decode_tensor(Payload payload, torch::Tensor& tensor) {
  TensorHead head;
  if (Status status = decode_head(payload, head); !status.ok()) return status;
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&head](const auto& entry) { return entry.first == head.type; });
  const auto options = torch::TensorOptions().dtype(type->second);
  const Bytes part = std::move(payload.parts[0]);
  if (part.size == 0) {
    tensor = torch::empty(head.shape, options);
    return {};
  }
  tensor = torch::from_blob(
      part.data, head.shape, [keeper = part.keeper](void*) {}, options);
  return {};
}

}  // namespace ripeline::runtime
