// index: a signed number of a task, lane or rank, converted to a position in a container.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ripeline {

[[nodiscard]] constexpr std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace ripeline
