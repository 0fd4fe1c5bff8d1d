// Run: tasks in the order in which they start; each ends before the next starts.
#pragma once

#include <vector>

namespace ripeline::verify {

struct Task {
  int lane = -1;
  int microbatch = -1;
  bool operator==(const Task&) const = default;
};
using Run = std::vector<Task>;

}  // namespace ripeline::verify
