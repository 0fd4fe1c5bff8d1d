// An order in steps, as PyTorch's own simulator of schedules counts them: every task takes one, and
// so does every send and every receive, which a rank does one after the other, as its tasks. Sends
// and receives are those that PyTorch adds when it loads the order. A receive is at the earliest in
// the step of its send.
//
// Three count them, who share only the order: PyTorch, of the CSV file that is exported; our
// simulator, of a program in which sends and receives are ops; and the training runtime, which
// emulates that program on the real clock. Whatever fails ends the program by std::runtime_error.
// One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pytorch/export.h"

namespace ripeline::bench {

struct Steps {
  int simulated = 0;
  double emulated = 0;         // more where the host was late
  std::optional<int> pytorch;  // nothing: it was not asked
};

// The exit code of a program that finds no PyTorch.
inline constexpr int kSkipped = 77;

// The program, committed to the order.
[[nodiscard]] std::string steps_program(const pytorch::ExportedActions& order, int microbatches);
// Without PyTorch. The emulated run takes the clock's time, 2 ms for each step.
[[nodiscard]] Steps steps_of(const pytorch::ExportedActions& order, int microbatches);

struct StepsOrder {
  const pytorch::ExportedActions* order = nullptr;
  int microbatches = 0;
};
// By PyTorch, for each order; `python` is a Python that has it. Nothing: it cannot import it.
[[nodiscard]] std::optional<std::vector<int>> pytorch_steps(const std::string& python,
                                                            const std::vector<StepsOrder>& orders);

}  // namespace ripeline::bench
