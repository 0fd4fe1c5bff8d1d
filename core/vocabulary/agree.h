// Agree: how the members of a tensor-parallel group choose the same tasks, in the same order.
//
// A plain value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ripeline::core {

enum class Agree : std::uint8_t {
  intersection,  // the members agree on a task that may start at every member
  vote,          // the members agree on the task that every member would choose
  leader,        // the members follow the choice of member 0
  none,          // the members do not agree
};

inline constexpr std::array kAgreeNames = {"intersection", "vote", "leader", "none"};
[[nodiscard]] constexpr const char* name_of(Agree agree) {
  return kAgreeNames[static_cast<std::size_t>(agree)];
}

}  // namespace ripeline::core
