#include "runtime/tensor_head.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "runtime/blob_io.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::array<char, 4> kMagic = {'R', 'T', 'N', '2'};
// Bytes of an element, by code.
constexpr std::array<std::size_t, 11> kSizes = {0, 4, 8, 2, 2, 8, 4, 2, 1, 1, 1};

Status malformed(const std::string& what) { return {StatusCode::invalid, "not a tensor: " + what}; }

// The bytes that a tensor of this shape takes, or nothing if that is no number of bytes.
bool data_size(const TensorHead& head, std::size_t& bytes) {
  const std::size_t item = kSizes[static_cast<std::size_t>(head.type)];
  const bool empty = std::find(head.shape.begin(), head.shape.end(), 0) != head.shape.end();
  // Checked for empty tensors too: their strides are products of the other dimensions.
  std::size_t product = item;
  for (const std::int64_t extent : head.shape) {
    if (extent < 0) return false;
    const auto factor = std::max<std::size_t>(static_cast<std::size_t>(extent), 1);
    if (product > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) / factor) {
      return false;
    }
    product *= factor;
  }
  bytes = empty ? 0 : product;
  return true;
}

}  // namespace

std::vector<std::byte> encode_head(const TensorHead& head) {
  BlobWriter to;
  to.bytes(kMagic.data(), kMagic.size());
  to.number(static_cast<std::uint8_t>(head.type));
  to.number(static_cast<std::uint8_t>(head.shape.size()));
  to.number(std::uint16_t{0});
  for (const std::int64_t extent : head.shape) to.number(extent);
  return to.take();
}

Status decode_head(const Payload& payload, TensorHead& head) {
  BlobReader from(payload.head);
  const std::byte* const magic = from.bytes(kMagic.size());
  const auto code = from.number<std::uint8_t>();
  const auto dimensions = from.number<std::uint8_t>();
  const auto zero = from.number<std::uint16_t>();
  if (magic == nullptr || std::memcmp(magic, kMagic.data(), kMagic.size()) != 0 || zero != 0) {
    return malformed("it does not begin as one");
  }
  if (code == 0 || code >= kSizes.size()) {
    return malformed("unknown type " + std::to_string(code));
  }
  head.type = static_cast<TensorType>(code);
  if (dimensions > kMostDimensions) {
    return malformed(std::to_string(dimensions) + " dimensions, at most " +
                     std::to_string(kMostDimensions) + " are allowed");
  }
  head.shape.clear();
  for (int i = 0; i < dimensions; ++i) head.shape.push_back(from.number<std::int64_t>());
  if (!from.is_done()) {
    return malformed("a head of " + std::to_string(payload.head.size()) + " bytes for " +
                     std::to_string(dimensions) + " dimensions");
  }
  std::size_t bytes = 0;
  if (!data_size(head, bytes)) return malformed("no such shape");
  if (payload.parts.size() != 1 || payload.parts[0].device >= 0) {
    return malformed(std::to_string(payload.parts.size()) +
                     " parts, where one in the host's memory was expected");
  }
  const Bytes& part = payload.parts[0];
  if (bytes != part.size) {
    return malformed(std::to_string(part.size) + " bytes of data, the shape needs " +
                     std::to_string(bytes));
  }
  if (head.type == TensorType::boolean &&
      std::any_of(part.data, part.data + part.size,
                  [](std::byte value) { return std::to_integer<int>(value) > 1; })) {
    return malformed("a bool that is neither 0 nor 1");
  }
  return {};
}

}  // namespace ripeline::runtime
