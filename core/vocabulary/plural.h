// plural: a number with the noun that it counts, as in `1 task`, `2 tasks`, `3 microbatches`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ripeline {

[[nodiscard]] inline std::string plural(std::int64_t n, std::string_view noun) {
  std::string text = std::to_string(n) + " " + std::string(noun);
  if (n != 1) text += noun.ends_with("ch") ? "es" : "s";
  return text;
}

}  // namespace ripeline
