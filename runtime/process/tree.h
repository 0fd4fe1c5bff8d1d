// The tree of a run's processes: process 0 is its root, and each has at most two children. Gathers
// go along it, and so do the start of a run and its clock.
#pragma once

#include <vector>

namespace ripeline::runtime::process {

// -1: of process 0.
[[nodiscard]] constexpr int parent_of(int process) { return process == 0 ? -1 : (process - 1) / 2; }
[[nodiscard]] inline std::vector<int> children_of(int process, int processes) {
  std::vector<int> all;
  for (const int child : {2 * process + 1, 2 * process + 2}) {
    if (child < processes) all.push_back(child);
  }
  return all;
}
// Whether the process is `root`, or stands below it.
[[nodiscard]] constexpr bool is_below(int process, int root) {
  while (process > root) process = parent_of(process);
  return process == root;
}

}  // namespace ripeline::runtime::process
