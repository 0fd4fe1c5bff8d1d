// The tasks at which slots stop the engines of a committed order for ever, for one count.
//
// Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "spec/program.h"
#include "verify/order/order_lists.h"

namespace ripeline::verify {

inline constexpr std::size_t kNoStop = static_cast<std::size_t>(-1);

// By rank and engine: the index of the list entry that the engine never passes, or kNoStop. Either
// this entry is no task of the program, or its messages never have slots all at once: they
// outnumber the slots, or earlier messages of a fifo edge, which later tasks take, leave too few.
//
// No other message waits for ever if each arrives just before its task starts: at that time an
// inbox without fifo has all slots free, and a fifo edge's inbox as many as are computed here.
[[nodiscard]] std::vector<std::size_t> slot_stops(const spec::Program& program, int microbatches,
                                                  const OrderLists& lists);

// The producer's microbatches whose slots the task's start frees in the edge's inbox; for needs `of
// all`, the lane's first task frees all. `begun` tells for each lane whether a task has started.
[[nodiscard]] core::TaskSpan slots_freed(const spec::Program& program, int microbatches,
                                         const spec::Edge& edge, const spec::Task& task,
                                         const std::vector<bool>& begun);

}  // namespace ripeline::verify
