// ValueHead: the head of a value's payload, which is a tensor or tensors in tuples, lists and
// dictionaries, at any depth (docs/formats.md).
//
// This needs no LibTorch, so that code that can be fuzzed checks the bytes from outside. Plain
// value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

// The codes are part of the format and are never renumbered.
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
  none = 1,  // no value; in place of a gradient: there is no gradient
  tensor,
  tuple,
  list,
  dictionary,
};

inline constexpr std::size_t kMostDimensions = 16;
inline constexpr int kDeepestValue = 16;  // levels of values in values

struct ValueHead {
  ValueKind kind = ValueKind::none;
  TensorType type = TensorType::float32;  // the type of a tensor, which also has a shape
  std::vector<std::int64_t> shape = {};
  std::vector<ValueHead> values = {};  // the values inside, in order
  std::vector<std::string> keys = {};  // the keys of a dictionary, one for each value
  bool operator==(const ValueHead&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode_head(const ValueHead& head);
// Any payload may be passed. One that is no value is refused before memory of its size is
// allocated. An accepted payload has, for each tensor in order, a part with as many bytes as the
// shape needs, on any device.
core::Status decode_head(const Payload& payload, ValueHead& head);

}  // namespace ripeline::runtime
