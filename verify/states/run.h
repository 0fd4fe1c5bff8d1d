// Run: tasks in the order in which they start; each ends before the next starts.
#pragma once

#include <vector>

#include "core/vocabulary/task.h"

namespace ripeline::verify {

using core::Task;
using Run = std::vector<Task>;

}  // namespace ripeline::verify
