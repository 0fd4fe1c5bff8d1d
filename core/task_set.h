// Sets of tasks as bits: one row of microbatches for each lane of a rank.
//
// Adding and removing are O(1); the lowest member of a row is found through a summary of its
// non-empty words, so that two words are read for a row of 4,096 microbatches. Only reset()
// allocates memory. Values; one thread at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/task.h"

namespace ripeline::core {

// A set of microbatches.
class MicrobatchSet {
 public:
  // Empties the set and makes room for 0 .. microbatches-1.
  void reset(int microbatches);
  void clear();

  void add(int microbatch) {
    const auto i = static_cast<std::size_t>(microbatch);
    words_[i / 64] |= bit(i % 64);
    summary_[i / 4096] |= bit(i / 64 % 64);
  }
  void remove(int microbatch) {
    const auto i = static_cast<std::size_t>(microbatch);
    words_[i / 64] &= ~bit(i % 64);
    if (words_[i / 64] == 0) summary_[i / 4096] &= ~bit(i / 64 % 64);
  }
  [[nodiscard]] bool contains(int microbatch) const {
    const auto i = static_cast<std::size_t>(microbatch);
    return (words_[i / 64] & bit(i % 64)) != 0;
  }
  // The lowest member, or -1.
  [[nodiscard]] int lowest() const {
    for (std::size_t s = 0; s < summary_.size(); ++s) {
      if (summary_[s] == 0) continue;
      const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(summary_[s]));
      return static_cast<int>(w * 64) + std::countr_zero(words_[w]);
    }
    return -1;
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t n = 0;
    for (const std::uint64_t word : words_) n += static_cast<std::size_t>(std::popcount(word));
    return n;
  }
  // The lowest microbatch in both sets, or -1. The sets must have the same size.
  [[nodiscard]] int lowest_common(const MicrobatchSet& other) const;
  [[nodiscard]] bool empty() const { return lowest() < 0; }
  // Removes all members that are not in `other`, which must have the same size.
  void keep_common(const MicrobatchSet& other);
  // Whether `other` has the same size, and all its members are in this set.
  [[nodiscard]] bool has_all(const MicrobatchSet& other) const;

  // The microbatches as bits, 64 in each word, for sending to other processes.
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  // Replaces the set's first words by `words`, which must not be more than it has; clears the rest.
  void assign(std::span<const std::uint64_t> words);

  bool operator==(const MicrobatchSet&) const = default;

 private:
  static constexpr std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << i; }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> summary_;  // bit w is set iff words_[w] is not zero
};

// A set of tasks of one rank.
class TaskSet {
 public:
  // Empties the set; rows are the lanes first_lane .. first_lane + lanes - 1.
  void reset(LaneId first_lane, int lanes, int microbatches);
  void clear();

  void add(Task task) { row(task.lane).add(task.microbatch); }
  void remove(Task task) { row(task.lane).remove(task.microbatch); }
  [[nodiscard]] bool contains(Task task) const { return row(task.lane).contains(task.microbatch); }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::size_t count() const;
  // The lowest task of the lowest lane that has one; lane -1 if the set is empty.
  [[nodiscard]] Task first() const;
  // Removes all tasks that are not in `other`. Both sets must have the same rows.
  void keep_common(const TaskSet& other);
  // Whether `other` has the same rows, and all its tasks are in this set.
  [[nodiscard]] bool has_all(const TaskSet& other) const;

  [[nodiscard]] MicrobatchSet& row(LaneId lane) {
    return rows_[static_cast<std::size_t>(lane - first_lane_)];
  }
  [[nodiscard]] const MicrobatchSet& row(LaneId lane) const {
    return rows_[static_cast<std::size_t>(lane - first_lane_)];
  }

  bool operator==(const TaskSet&) const = default;

 private:
  LaneId first_lane_ = 0;
  std::vector<MicrobatchSet> rows_;
};

}  // namespace ripeline::core
