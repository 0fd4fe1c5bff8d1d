// Stuck: the waits between tasks if a run ended before all its tasks, and the circle of waits.
//
// The waits follow from the tasks that ran, the messages that arrived and the program's facts:
// which needs are missing, which tasks hold a full pool and which would free it, and which messages
// take the slots. A committed order is not part of the facts, so a caller that knows the order
// passes the next task of each engine. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "view/timeline.h"

namespace ripeline::view {

struct StuckTask {
  core::Task task;
  std::string text;  // `room in activation of stage 0: 2 of 2 held`
  core::Task on;     // the task that must start or end first; lane -1 if not known
};

// The largest number of waits that are shown in words.
inline constexpr std::size_t kMostWaits = 8;

struct Stuck {
  std::vector<StuckTask> waits;  // first those of the circle, each waiting for the task of the next
  std::size_t circle = 0;        // the number of waits in the circle; 0 if none was found
  [[nodiscard]] bool any() const { return !waits.empty(); }
};

// The waits in the last step of the trace; empty if all tasks of that step ran. With committed
// orders, `next` is the next task of every engine.
[[nodiscard]] Stuck stuck_at_end(const Timeline& timeline,
                                 const std::vector<core::Task>& next = {});

}  // namespace ripeline::view
