// Names for people: lanes, tasks, pools and inboxes, written as in PyTorch and the language.
//
// Ids must be of the program that `facts` describes.
#pragma once

#include <string>

#include "core/facts.h"

namespace ripeline::core {

[[nodiscard]] std::string lane_name(const ProgramFacts& facts, LaneId lane);  // 2F
[[nodiscard]] std::string task_name(const ProgramFacts& facts, Task task);    // 2F0
[[nodiscard]] std::string pool_name(const ProgramFacts& facts, int pool);  // activation of stage 2
// As in `inbox of stage 2` for a channel `inbox`; without a channel, `the slots from 1F to 2F`.
[[nodiscard]] std::string inbox_name(const ProgramFacts& facts, int inbox);

}  // namespace ripeline::core
