#include "tests/fake_gpu/nccl_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace fake_gpu {
namespace {

// These 16-bit numbers are added as floats and rounded to the nearest, with ties to even.
struct Bfloat16 {
  std::uint16_t bits = 0;
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  static Bfloat16 of(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return {static_cast<std::uint16_t>(whole >> 16 | 0x40)};
    return {static_cast<std::uint16_t>((whole + 0x7fff + (whole >> 16 & 1)) >> 16)};
  }
};

struct Half {
  std::uint16_t bits = 0;
  explicit operator float() const {
    const int exponent = bits >> 10 & 0x1f;
    const auto mantissa = static_cast<float>(bits & 0x3ff);
    float value =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
    if (exponent == 0x1f) value = (bits & 0x3ff) == 0 ? INFINITY : NAN;
    return (bits & 0x8000) == 0 ? value : -value;
  }
  static Half of(float value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const float size = std::fabs(value);
    const auto with = [sign](int magnitude) {
      return Half{static_cast<std::uint16_t>(sign | magnitude)};
    };
    if (std::isnan(value)) return with(0x7e00);
    if (size >= 65520) return with(0x7c00);
    int exponent = 0;
    std::frexp(size, &exponent);
    // The exponent of the last bit that is kept.
    const int last = std::max(exponent - 11, -24);
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, -last)));
    return with(last == -24 ? steps : (last + 24) * 1024 + steps);
  }
};

template <class T>
T combine(ncclRedOp_t operation, T a, T b) {
  if (operation == ncclMax) return std::max(a, b);
  return static_cast<T>(a + b);
}
template <class T>
T combine_narrow(ncclRedOp_t operation, T a, T b) {
  return T::of(combine(operation, static_cast<float>(a), static_cast<float>(b)));
}
template <>
Bfloat16 combine(ncclRedOp_t operation, Bfloat16 a, Bfloat16 b) {
  return combine_narrow(operation, a, b);
}
template <>
Half combine(ncclRedOp_t operation, Half a, Half b) {
  return combine_narrow(operation, a, b);
}

template <class T>
void reduce_as(ncclRedOp_t operation, const std::vector<const void*>& inputs,
               std::vector<std::byte>& result) {
  for (std::size_t at = 0; at < result.size(); at += sizeof(T)) {
    const auto value_of = [at](const void* input) {
      T value{};
      std::memcpy(&value, static_cast<const std::byte*>(input) + at, sizeof(T));
      return value;
    };
    T total = value_of(inputs.front());
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      total = combine(operation, total, value_of(inputs[i]));
    }
    std::memcpy(result.data() + at, &total, sizeof(T));
  }
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

bool can_reduce(ncclDataType_t type, ncclRedOp_t operation) {
  constexpr ncclDataType_t kTypes[] = {ncclFloat16, ncclBfloat16, ncclFloat32,
                                       ncclFloat64, ncclInt32,    ncclInt64};
  return (operation == ncclSum || operation == ncclMax) &&
         std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

void reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const void*>& inputs,
            std::vector<std::byte>& result) {
  if (type == ncclFloat16) reduce_as<Half>(operation, inputs, result);
  if (type == ncclBfloat16) reduce_as<Bfloat16>(operation, inputs, result);
  if (type == ncclFloat32) reduce_as<float>(operation, inputs, result);
  if (type == ncclFloat64) reduce_as<double>(operation, inputs, result);
  if (type == ncclInt32) reduce_as<std::int32_t>(operation, inputs, result);
  if (type == ncclInt64) reduce_as<std::int64_t>(operation, inputs, result);
}

}  // namespace fake_gpu
