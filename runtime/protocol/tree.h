// The tree of a run's processes: process 0 is the root, and each process has at most two children.
// Gathers go along this tree, and so do the messages that start a run and compare its clocks.
#pragma once

#include <vector>

namespace ripeline::runtime::protocol {

// The parent of process 0 is -1.
[[nodiscard]] constexpr int parent_of(int process) { return process == 0 ? -1 : (process - 1) / 2; }
[[nodiscard]] inline std::vector<int> children_of(int process, int processes) {
  std::vector<int> all;
  for (const int child : {2 * process + 1, 2 * process + 2}) {
    if (child < processes) all.push_back(child);
  }
  return all;
}
// Whether the process is `root` or below it.
[[nodiscard]] constexpr bool is_below(int process, int root) {
  while (process > root) process = parent_of(process);
  return process == root;
}

}  // namespace ripeline::runtime::protocol
