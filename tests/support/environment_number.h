// Numbers that a test takes from the environment.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace ripeline::testing_support {

// The value of the variable, or `otherwise` if it is not set.
inline std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace ripeline::testing_support
