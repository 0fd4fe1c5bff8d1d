#include "runtime/value_head.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>

#include "runtime/blob_io.h"

namespace ripeline::runtime {
namespace {

using core::Status;
using core::StatusCode;

constexpr std::array<char, 4> kMagic = {'R', 'T', 'N', '3'};
// The bytes of an element, by the code of its type.
constexpr std::array<std::size_t, 11> kSizes = {0, 4, 8, 2, 2, 8, 4, 2, 1, 1, 1};
constexpr std::size_t kLongestKey = 256;

Status malformed(const std::string& what) {
  return {StatusCode::invalid, "not a tensor or tensors: " + what};
}

// Computes the bytes that a tensor of this shape needs; false if the shape is not possible.
bool data_size(const ValueHead& head, std::size_t& bytes) {
  const std::size_t item = kSizes[static_cast<std::size_t>(head.type)];
  const bool empty = std::find(head.shape.begin(), head.shape.end(), 0) != head.shape.end();
  // Checked for empty tensors, too: their strides are products of the other dimensions.
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

void write(BlobWriter& to, const ValueHead& head) {
  to.number(static_cast<std::uint8_t>(head.kind));
  if (head.kind == ValueKind::none) return;
  if (head.kind == ValueKind::tensor) {
    to.number(static_cast<std::uint8_t>(head.type));
    to.number(static_cast<std::uint8_t>(head.shape.size()));
    for (const std::int64_t extent : head.shape) to.number(extent);
    return;
  }
  to.number(static_cast<std::uint32_t>(head.values.size()));
  for (std::size_t i = 0; i < head.values.size(); ++i) {
    if (head.kind == ValueKind::dictionary) to.text(head.keys[i]);
    write(to, head.values[i]);
  }
}

class Reader {
 public:
  explicit Reader(const Payload& payload) : payload_(payload), from_(payload.head) {}

  Status read(ValueHead& head) {
    const std::byte* const magic = from_.bytes(kMagic.size());
    if (magic == nullptr || std::memcmp(magic, kMagic.data(), kMagic.size()) != 0) {
      return malformed("it does not begin so");
    }
    if (Status status = read_value(head, 0); !status.ok()) return status;
    if (!from_.is_done()) {
      return malformed("a head of " + std::to_string(payload_.head.size()) + " bytes");
    }
    if (tensors_ == payload_.parts.size()) return {};
    return malformed(std::to_string(payload_.parts.size()) + " parts for " +
                     std::to_string(tensors_) + " tensors");
  }

 private:
  Status read_value(ValueHead& head, int depth) {
    const auto kind = from_.number<std::uint8_t>();
    if (!from_.ok()) return malformed("its head ends early");
    if (kind == 0 || kind > static_cast<int>(ValueKind::dictionary)) {
      return malformed("unknown kind " + std::to_string(kind));
    }
    head.kind = static_cast<ValueKind>(kind);
    if (head.kind == ValueKind::none) return {};
    if (head.kind == ValueKind::tensor) return read_tensor(head);
    if (depth == kDeepestValue) {
      return malformed("deeper than " + std::to_string(kDeepestValue) + " levels");
    }
    return read_inside(head, depth);
  }

  // Each value takes at least a byte, so reading ends with the head if the count is too large.
  Status read_inside(ValueHead& head, int depth) {
    const auto count = from_.number<std::uint32_t>();
    std::set<std::string> keys;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (head.kind == ValueKind::dictionary) {
        head.keys.push_back(from_.text(kLongestKey));
        if (!keys.insert(head.keys.back()).second) return malformed("a key that is there twice");
      }
      Status status = read_value(head.values.emplace_back(), depth + 1);
      if (!status.ok()) return status;
    }
    return {};
  }

  Status read_tensor(ValueHead& head) {
    const auto code = from_.number<std::uint8_t>();
    const auto dimensions = from_.number<std::uint8_t>();
    if (code == 0 || code >= kSizes.size()) {
      return malformed("unknown type " + std::to_string(code));
    }
    head.type = static_cast<TensorType>(code);
    if (dimensions > kMostDimensions) {
      return malformed(std::to_string(dimensions) + " dimensions, at most " +
                       std::to_string(kMostDimensions) + " are allowed");
    }
    for (int i = 0; i < dimensions; ++i) head.shape.push_back(from_.number<std::int64_t>());
    if (!from_.ok()) return malformed("its head ends early");
    return check_part(head, tensors_++);
  }

  [[nodiscard]] Status check_part(const ValueHead& head, std::size_t at) const {
    std::size_t bytes = 0;
    if (!data_size(head, bytes)) return malformed("no such shape");
    if (at >= payload_.parts.size()) return malformed("a tensor without a part");
    const Bytes& part = payload_.parts[at];
    if (bytes != part.size) {
      return malformed(std::to_string(part.size) + " bytes of data, the shape needs " +
                       std::to_string(bytes));
    }
    const bool is_wrong = head.type == TensorType::boolean &&
                          std::any_of(part.data, part.data + part.size, [](std::byte value) {
                            return std::to_integer<int>(value) > 1;
                          });
    return is_wrong ? malformed("a bool that is neither 0 nor 1") : Status();
  }

  const Payload& payload_;
  BlobReader from_;
  std::size_t tensors_ = 0;  // read so far
};

}  // namespace

std::vector<std::byte> encode_head(const ValueHead& head) {
  BlobWriter to;
  for (const char letter : kMagic) to.number(static_cast<std::uint8_t>(letter));
  write(to, head);
  return to.take();
}

Status decode_head(const Payload& payload, ValueHead& head) {
  head = {};
  return Reader(payload).read(head);
}

}  // namespace ripeline::runtime
