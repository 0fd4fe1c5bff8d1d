#include "core/task_set.h"

#include <algorithm>

namespace ripeline::core {

void MicrobatchSet::reset(int microbatches) {
  const auto n = static_cast<std::size_t>(microbatches);
  words_.assign((n + 63) / 64, 0);
  summary_.assign((words_.size() + 63) / 64, 0);
}

void MicrobatchSet::assign(std::span<const std::uint64_t> words) {
  clear();
  for (std::size_t w = 0; w < words.size(); ++w) {
    words_[w] = words[w];
    if (words[w] != 0) summary_[w / 64] |= bit(w % 64);
  }
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

void MicrobatchSet::keep_common(const MicrobatchSet& other) {
  for (std::size_t w = 0; w < words_.size(); ++w) {
    words_[w] &= other.words_[w];
    if (words_[w] == 0) summary_[w / 64] &= ~bit(w % 64);
  }
}

bool MicrobatchSet::has_all(const MicrobatchSet& other) const {
  if (words_.size() != other.words_.size()) return false;
  for (std::size_t w = 0; w < words_.size(); ++w) {
    if ((other.words_[w] & ~words_[w]) != 0) return false;
  }
  return true;
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

std::size_t TaskSet::count() const {
  std::size_t n = 0;
  for (const MicrobatchSet& r : rows_) n += r.count();
  return n;
}

Task TaskSet::first() const {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (const int m = rows_[i].lowest(); m >= 0) return {first_lane_ + static_cast<LaneId>(i), m};
  }
  return {};
}

void TaskSet::keep_common(const TaskSet& other) {
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].keep_common(other.rows_[i]);
}

bool TaskSet::has_all(const TaskSet& other) const {
  if (first_lane_ != other.first_lane_ || rows_.size() != other.rows_.size()) return false;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].has_all(other.rows_[i])) return false;
  }
  return true;
}

}  // namespace ripeline::core
