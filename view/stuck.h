// Stuck: who waits for whom where a run ended before its tasks did, and the circle in that.
//
// Read off the tasks that ran and the messages that arrived, with the program's facts: what is
// missing of a need, which tasks hold a pool that is full and which would free it, which messages
// take the slots. A committed order is no part of the facts: whoever knows it gives the task that
// is next on each engine. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "view/timeline.h"

namespace ripeline::view {

struct Wait {
  core::Task task;
  std::string text;  // `room in activation of stage 0: 2 of 2 held`
  core::Task on;     // the task that must start or end first; lane -1: not known
};

// Waits that are shown in words.
inline constexpr std::size_t kMostWaits = 8;

struct Stuck {
  std::vector<Wait> waits;  // those of the circle first, each waiting on the one after it
  std::size_t circle = 0;   // how many of them; 0: none was found
  [[nodiscard]] bool any() const { return !waits.empty(); }
};

// The waits in the last step of the trace; empty if every task of it ran. `next`: with committed
// orders, the next task of every engine.
[[nodiscard]] Stuck stuck_at_end(const Timeline& timeline,
                                 const std::vector<core::Task>& next = {});

}  // namespace ripeline::view
