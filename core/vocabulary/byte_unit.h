// Byte units: how many bytes a unit such as MiB stands for, in a resource or a flag. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace ripeline::core {

inline constexpr std::array<std::pair<std::string_view, std::int64_t>, 9> kByteUnits = {{
    {"TB", 1'000'000'000'000},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"kB", 1'000},
    {"TiB", std::int64_t{1} << 40},
    {"GiB", std::int64_t{1} << 30},
    {"MiB", std::int64_t{1} << 20},
    {"KiB", std::int64_t{1} << 10},
    {"B", 1},
}};

// The bytes of one `unit`; nullopt if `unit` is not one of kByteUnits.
[[nodiscard]] constexpr std::optional<std::int64_t> bytes_of_unit(std::string_view unit) {
  for (const auto& [name, bytes] : kByteUnits) {
    if (name == unit) return bytes;
  }
  return std::nullopt;
}

}  // namespace ripeline::core
