// One training step of a program on network/local, each rank a thread under an interpreted
// arbiter, with delays drawn from a seed.
//
// The laws about training look at its results. It ends by itself: a rank that waits longer than the
// limit fails and says for what.
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
  std::size_t live = 0;             // entries that the work still holds at the end
  std::vector<std::int64_t> peaks;  // per pool, of this rank's pools; 0 for others
};

[[nodiscard]] std::vector<RankResult> train_one_step(
    const spec::Program& program, const std::vector<std::optional<std::int64_t>>& proved_peaks,
    const runtime::ToyModel& model, int microbatches, std::uint64_t delay_seed);

}  // namespace ripeline::proptests
