// TensorHead: the head of a tensor's payload, its type and shape (docs/formats.md).
//
// Without LibTorch, so that whatever comes from outside is checked by code that can be fuzzed.
// Plain value.
#pragma once

#include <cstdint>
#include <string_view>
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

inline constexpr std::size_t kMostDimensions = 16;

struct TensorHead {
  TensorType type = TensorType::float32;
  std::vector<std::int64_t> shape;
};

[[nodiscard]] std::vector<std::byte> encode_head(const TensorHead& head);
// Any payload may be given: what is no tensor is refused, before anything of its size is taken.
// When it is one, it has one part of the shape's bytes, in the host's memory.
core::Status decode_head(const Payload& payload, TensorHead& head);

}  // namespace ripeline::runtime
