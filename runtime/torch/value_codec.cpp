#include "runtime/torch/value_codec.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/value_head.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;
using torch::IValue;
using torch::Tensor;

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

// The device of the part. A process has only one kind of accelerator in LibTorch.
c10::Device device_of(const Bytes& part) {
  if (part.device < 0) return c10::kCPU;
  return {at::getAccelerator().value(), static_cast<c10::DeviceIndex>(part.device)};
}

bool is_reachable(const Tensor& tensor) {
  return tensor.is_cpu() || at::getAccelerator() == tensor.device().type();
}

Status refused(const std::string& what) { return {StatusCode::invalid, "no payload for " + what}; }

// Splits a tuple, list or dictionary into its values and keys. Returns false for a tensor, None, or
// any other kind of value.
bool open(const IValue& value, ValueKind& kind, std::vector<IValue>& inside,
          std::vector<std::string>& keys) {
  if (value.isTuple()) {
    kind = ValueKind::tuple;
    for (const IValue& one : value.toTupleRef().elements()) inside.push_back(one);
  } else if (value.isList()) {
    kind = ValueKind::list;
    for (const IValue& one : value.toListRef()) inside.push_back(one);
  } else if (value.isGenericDict()) {
    kind = ValueKind::dictionary;
    for (const auto& entry : value.toGenericDict()) {
      keys.push_back(entry.key().toStringRef());
      inside.push_back(entry.value());
    }
  } else {
    return false;
  }
  return true;
}

Status encode_tensor(const Tensor& tensor, ValueHead& head, Payload& payload) {
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&tensor](const auto& entry) {
    return entry.second == tensor.scalar_type();
  });
  if (type == kTypes.end() || !is_reachable(tensor) || tensor.layout() != torch::kStrided ||
      static_cast<std::size_t>(tensor.dim()) > kMostDimensions) {
    return refused("a tensor " + tensor.toString() + " of " + std::to_string(tensor.dim()) +
                   " dimensions: dense ones of at most 16 only, of the host or its accelerator");
  }
  if (payload.parts.size() == kMostParts) {
    return refused("more than " + std::to_string(kMostParts) + " tensors");
  }
  auto kept = std::make_shared<Tensor>(tensor.detach().contiguous());
  head.kind = ValueKind::tensor;
  head.type = type->first;
  head.shape = kept->sizes().vec();
  // The const_cast is safe, since nobody writes to a part.
  auto* const data = static_cast<std::byte*>(const_cast<void*>(kept->const_data_ptr()));
  const std::size_t size = kept->nbytes();
  const int device = kept->is_cpu() ? -1 : kept->device().index();
  payload.parts.push_back({.data = data, .size = size, .device = device, .owner = std::move(kept)});
  return {};
}

Status encode(const IValue& value, ValueHead& head, Payload& payload, int depth) {
  if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return {};
  if (value.isTensor()) return encode_tensor(value.toTensor(), head, payload);
  std::vector<IValue> inside;
  if (depth == kDeepestValue || !open(value, head.kind, inside, head.keys)) {
    return refused("a value of type " + value.type()->str() +
                   ": tensors, and tuples, lists and dictionaries of them by text, at most " +
                   std::to_string(kDeepestValue) + " deep");
  }
  for (const IValue& one : inside) {
    if (Status s = encode(one, head.values.emplace_back(), payload, depth + 1); !s.ok()) return s;
  }
  return {};
}

Tensor decode_tensor(const ValueHead& head, const Bytes& part) {
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&head](const auto& entry) { return entry.first == head.type; });
  const c10::Device device = device_of(part);
  const auto options = torch::TensorOptions().dtype(type->second).device(device);
  if (part.size == 0) return torch::empty(head.shape, options);
  return at::for_blob(part.data, head.shape)
      .deleter([owner = part.owner](void*) {})
      .options(options)
      .target_device(device)
      .make_tensor();
}

// The type of the values in a list or dictionary: tensors if all are tensors, else any.
c10::TypePtr type_of(const std::vector<IValue>& values) {
  const bool are_tensors = std::all_of(values.begin(), values.end(),
                                       [](const IValue& value) { return value.isTensor(); });
  if (are_tensors) return c10::TensorType::get();
  return c10::AnyType::get();
}

// The inverse of open(): makes a tuple, list or dictionary from values and keys.
IValue closed(ValueKind kind, std::vector<IValue> inside, const std::vector<std::string>& keys) {
  if (kind == ValueKind::tuple) return c10::ivalue::Tuple::create(std::move(inside));
  if (kind == ValueKind::list) {
    c10::impl::GenericList list(type_of(inside));
    for (IValue& one : inside) list.push_back(std::move(one));
    return list;
  }
  c10::impl::GenericDict dictionary(c10::StringType::get(), type_of(inside));
  for (std::size_t i = 0; i < inside.size(); ++i) dictionary.insert(keys[i], inside[i]);
  return dictionary;
}

// Decodes a value, and advances `part` past the parts that belong to it.
IValue decode(const ValueHead& head, const Bytes*& part) {
  if (head.kind == ValueKind::none) return {};
  if (head.kind == ValueKind::tensor) return decode_tensor(head, *part++);
  std::vector<IValue> inside;
  inside.reserve(head.values.size());
  for (const ValueHead& one : head.values) inside.push_back(decode(one, part));
  return closed(head.kind, std::move(inside), head.keys);
}

void collect(const IValue& value, std::vector<Tensor>& tensors) {
  if (value.isNone()) {
    tensors.emplace_back();
    return;
  }
  ValueKind kind{};
  std::vector<IValue> inside;
  std::vector<std::string> keys;
  if (!open(value, kind, inside, keys)) {
    tensors.push_back(value.toTensor());
    return;
  }
  for (const IValue& one : inside) collect(one, tensors);
}

}  // namespace

Status encode_value(const IValue& value, Payload& payload) {
  ValueHead head;
  payload = {};
  if (Status status = encode(value, head, payload, 0); !status.ok()) return status;
  payload.head = encode_head(head);
  if (payload.head.size() <= kLargestHead) return {};
  return refused("a value whose types, shapes and keys take more than " +
                 std::to_string(kLargestHead) + " bytes");
}

Status decode_value(Payload payload, IValue& value) {
  ValueHead head;
  if (Status status = decode_head(payload, head); !status.ok()) return status;
  for (const Bytes& part : payload.parts) {
    if (part.device >= 0 && !at::getAccelerator()) {
      return {StatusCode::invalid,
              "not a tensor or tensors: a part on a device of another process"};
    }
  }
  const Bytes* part = payload.parts.data();
  value = decode(head, part);
  return {};
}

std::vector<Tensor> tensors_of(const IValue& value) {
  std::vector<Tensor> tensors;
  collect(value, tensors);
  return tensors;
}

IValue with_each(const IValue& value, const std::function<Tensor(const Tensor&)>& change) {
  if (value.isNone()) return value;
  ValueKind kind{};
  std::vector<IValue> inside;
  std::vector<std::string> keys;
  if (!open(value, kind, inside, keys)) {
    const Tensor tensor = value.toTensor();
    return tensor.defined() ? change(tensor) : tensor;
  }
  for (IValue& one : inside) one = with_each(one, change);
  return closed(kind, std::move(inside), keys);
}

}  // namespace ripeline::runtime
