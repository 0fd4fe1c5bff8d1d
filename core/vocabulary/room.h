// Room: what a task must find of a resource before it may start.
//
// The one statement of the rule: held + amount + leaving <= capacity, where `leaving` is what must
// remain free at that moment beside the amount. Whoever decides, proves, prints or watches starts
// asks here: `Number` is an integer, or a term or an expression where numbers are open. Plain
// values.
#pragma once

#include <cstdint>

namespace ripeline::core {

// The room that a task acquires at its start, in a pool that has a capacity.
template <class Number>
struct RoomOf {
  Number capacity{};
  Number amount{};
  Number leaving{};

  // With more than this held of the pool the task may not start.
  [[nodiscard]] constexpr Number most_held() const { return most_held_after() - amount; }
  // Once it has started, no more than this is held.
  [[nodiscard]] constexpr Number most_held_after() const { return capacity - leaving; }
  [[nodiscard]] constexpr auto fits(const Number& held) const { return held <= most_held(); }
};
using Room = RoomOf<std::int64_t>;

}  // namespace ripeline::core
