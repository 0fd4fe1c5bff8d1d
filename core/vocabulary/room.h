// Room: the part of a resource that must be free before a task may start.
//
// This header alone has the rule: held + amount + leaving <= capacity. So `leaving` must remain
// free, beside the amount, at the moment of the start. All code that decides, proves, prints or
// watches starts uses this header. `Number` is an integer, or a term or an expression if numbers
// are unknown. Plain values.
#pragma once

#include <cstdint>

namespace ripeline::core {

// The room that a task acquires at its start, in a pool that has a capacity.
template <class Number>
struct RoomOf {
  Number capacity{};
  Number amount{};
  Number leaving{};

  // The greatest held amount with which the task may still start.
  [[nodiscard]] constexpr Number most_held() const { return most_held_after() - amount; }
  // The most that the pool may hold right after the start.
  [[nodiscard]] constexpr Number most_held_after() const { return capacity - leaving; }
  [[nodiscard]] constexpr auto fits(const Number& held) const { return held <= most_held(); }
};
using Room = RoomOf<std::int64_t>;

}  // namespace ripeline::core
