// Durations as text, for messages to users.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <string>

namespace ripeline::runtime {

// The time in seconds, to the millisecond: `0.25 s`.
[[nodiscard]] inline std::string seconds_text(std::chrono::nanoseconds time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), static_cast<double>(ms) / 1000);
  return std::string(text.data(), end.ptr) + " s";
}

}  // namespace ripeline::runtime
