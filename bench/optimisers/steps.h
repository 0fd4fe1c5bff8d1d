// Steps: the length of an order in steps, as PyTorch's simulator of schedules counts them. Every
// task, send and receive takes one step, and a rank does one of these at a time. The sends and
// receives are those that PyTorch adds when it loads the order. A receive may be in the step of its
// send, but not in an earlier one.
//
// Three programs count steps, and share only the order. PyTorch reads the exported CSV file.
// Ripeline's simulator runs a program in which sends and receives are ops. The training runtime
// emulates that program on the real clock. A failure ends the program by std::runtime_error. One
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pytorch/export.h"

namespace ripeline::bench {

struct Steps {
  int simulated = 0;
  double emulated = 0;         // greater than `simulated` if the host was late
  std::optional<int> pytorch;  // nullopt if PyTorch was not asked
};

// The exit code of a program that finds no PyTorch.
inline constexpr int kSkipped = 77;

// The text of a program that commits to the order, and has the sends and receives as ops.
[[nodiscard]] std::string steps_program(const pytorch::ExportedActions& order, int microbatches);
// Counts steps without PyTorch. The emulated run takes real time, 2 ms for each step.
[[nodiscard]] Steps steps_of(const pytorch::ExportedActions& order, int microbatches);

struct StepsOrder {
  const pytorch::ExportedActions* order = nullptr;
  int microbatches = 0;
};
// PyTorch's count for each order; nullopt if `python`, the name of a Python, has no PyTorch.
[[nodiscard]] std::optional<std::vector<int>> pytorch_steps(const std::string& python,
                                                            const std::vector<StepsOrder>& orders);

}  // namespace ripeline::bench
