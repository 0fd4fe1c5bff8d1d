// Frames of messages between ripeline-solver and its caller: a length in eight bytes, lowest first,
// then the message. The caller sends SatParameters and a CpModelProto, and gets a CpSolverResponse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ripeline::optimise {

inline constexpr std::size_t kFrameHead = 8;

// The exit codes of ripeline-solver if it gives no answer. The reason is written to standard error.
inline constexpr int kBadRequest = 2;
inline constexpr int kNoLibrary = 3;

[[nodiscard]] inline std::string framed(std::string_view message) {
  std::string bytes;
  for (std::size_t i = 0; i < kFrameHead; ++i) {
    bytes.push_back(static_cast<char>((std::uint64_t{message.size()} >> (8 * i)) & 0xff));
  }
  return bytes.append(message);
}

// Removes the first message from `bytes` and returns it; nullopt if it is incomplete.
[[nodiscard]] inline std::optional<std::string_view> next_message(std::string_view& bytes) {
  if (bytes.size() < kFrameHead) return std::nullopt;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kFrameHead; ++i) {
    length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  if (length > bytes.size() - kFrameHead) return std::nullopt;
  const std::string_view message = bytes.substr(kFrameHead, length);
  bytes.remove_prefix(kFrameHead + length);
  return message;
}

}  // namespace ripeline::optimise
