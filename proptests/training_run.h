// One training step of a program on network/local. Each rank is a thread with an interpreted
// arbiter, and delays are drawn from a seed.
//
// The laws about training check the results of the step. Every run ends, since a rank that waits
// longer than the limit fails, and names what it waited for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/status.h"
#include "core/task.h"
#include "runtime/toy_work.h"
#include "spec/program.h"

namespace ripeline::proptests {

struct RankResult {
  core::Status status;
  std::vector<core::Task> started;
  std::map<int, std::vector<double>> gradients;  // by stage
  double loss = 0;
  std::size_t live = 0;             // entries that the work still has at the end
  std::vector<std::int64_t> peaks;  // per pool; 0 for the pools of other ranks
};

[[nodiscard]] std::vector<RankResult> train_one_step(
    const spec::Program& program, const std::vector<std::optional<std::int64_t>>& proved_peaks,
    const runtime::ToyModel& model, int microbatches, std::uint64_t delay_seed);

}  // namespace ripeline::proptests
