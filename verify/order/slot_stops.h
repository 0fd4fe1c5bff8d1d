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

// Per rank and engine: the index in its list that it never passes, or kNoStop. Either no such task
// exists, or its messages never all have slots at once, whatever the timing: they are more than the
// slots, or earlier messages of a fifo edge, for later tasks, leave too few.
//
// Nothing else waits for ever if messages arrive just before their task starts: then all slots of
// an inbox without fifo are free, and of a fifo edge's inbox as many as are computed here.
[[nodiscard]] std::vector<std::size_t> slot_stops(const spec::Program& program, int microbatches,
                                                  const OrderLists& lists);

// The producer's microbatches whose slots the task's start frees in the edge's inbox; for needs of
// all, the first task of its lane frees all. `begun`: per lane, whether a task has started.
[[nodiscard]] core::TaskSpan slots_freed(const spec::Program& program, int microbatches,
                                         const spec::Edge& edge, const spec::Task& task,
                                         const std::vector<bool>& begun);

}  // namespace ripeline::verify
