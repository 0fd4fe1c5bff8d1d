// Where slots stop the engines of a committed order for good, with one microbatch count.
//
// Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "spec/program.h"
#include "verify/order/order_lists.h"

namespace ripeline::verify {

inline constexpr std::size_t kNoStop = static_cast<std::size_t>(-1);

// Per rank and engine: the place in its list that it never passes, for its next task is none, or
// its messages never all have slots at once, whatever the timing: they are more than the inbox has;
// or those that a fifo edge brings before them, and that later tasks take, leave them none.
//
// Nothing else waits for ever if messages arrive just before their task starts: of an inbox that is
// no fifo all slots are free then, and of a fifo's so many as are looked for here.
[[nodiscard]] std::vector<std::size_t> slot_stops(const spec::Program& program, int microbatches,
                                                  const OrderLists& lists);

// The producer's microbatches whose slots of the edge's inbox the task's start frees: of all, the
// first task of its lane frees them. `begun`: of each lane, a task has started.
[[nodiscard]] core::TaskSpan slots_freed(const spec::Program& program, int microbatches,
                                         const spec::Edge& edge, const spec::Task& task,
                                         const std::vector<bool>& begun);

}  // namespace ripeline::verify
