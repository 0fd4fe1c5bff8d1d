#include "core/task_set.h"

#include <algorithm>

namespace ripeline::core {

void MicrobatchSet::reset(int microbatches) {
  const auto n = static_cast<std::size_t>(microbatches);
  words_.assign((n + 63) / 64, 0);
  summary_.assign((words_.size() + 63) / 64, 0);
}

void MicrobatchSet::clear() {
  std::fill(words_.begin(), words_.end(), 0);
  std::fill(summary_.begin(), summary_.end(), 0);
}

int MicrobatchSet::lowest_common(const MicrobatchSet& other) const {
  for (std::size_t s = 0; s < summary_.size(); ++s) {
    for (std::uint64_t both = summary_[s] & other.summary_[s]; both != 0; both &= both - 1) {
      const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(both));
      if (const std::uint64_t common = words_[w] & other.words_[w]; common != 0) {
        return static_cast<int>(w * 64) + std::countr_zero(common);
      }
    }
  }
  return -1;
}

void TaskSet::reset(LaneId first_lane, int lanes, int microbatches) {
  first_lane_ = first_lane;
  rows_.resize(static_cast<std::size_t>(lanes));
  for (MicrobatchSet& r : rows_) r.reset(microbatches);
}

void TaskSet::clear() {
  for (MicrobatchSet& r : rows_) r.clear();
}

bool TaskSet::empty() const {
  return std::all_of(rows_.begin(), rows_.end(), [](const MicrobatchSet& r) { return r.empty(); });
}

}  // namespace ripeline::core
