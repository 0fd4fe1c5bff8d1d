// ValueHead: the head of a value's payload, which is a tensor or tensors in tuples, lists and
// dictionaries, at any depth (docs/formats.md).
//
// Without LibTorch, so that whatever comes from outside is checked by code that can be fuzzed.
// Plain value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

// The codes are part of the format: never renumbered.
enum class TensorType : std::uint8_t {
  float32 = 1,
  float64,
  float16,
  bfloat16,
  int64,
  int32,
  int16,
  int8,
  uint8,
  boolean,
};
enum class ValueKind : std::uint8_t {
  none = 1,  // no value: of a gradient, that there is none
  tensor,
  tuple,
  list,
  dictionary,
};

inline constexpr std::size_t kMostDimensions = 16;
inline constexpr int kDeepestValue = 16;  // values in values

struct ValueHead {
  ValueKind kind = ValueKind::none;
  TensorType type = TensorType::float32;  // a tensor's, as its shape
  std::vector<std::int64_t> shape = {};
  std::vector<ValueHead> values = {};  // inside, in order
  std::vector<std::string> keys = {};  // a dictionary's, one for each
  bool operator==(const ValueHead&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode_head(const ValueHead& head);
// Any payload may be given: what is no value is refused, before anything of its size is taken.
// When it is one, it has a part of the shape's bytes for each tensor, in order, wherever
// that lies.
core::Status decode_head(const Payload& payload, ValueHead& head);

}  // namespace ripeline::runtime
