// The choice by a hint's priorities: among the tasks that may start, the greatest value.
//
// Plain values, of one choice. One thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/arbiter.h"
#include "core/ready_rows.h"
#include "core/task_set.h"

namespace ripeline::core {

// The lowest member of `row` from `from` on that is in `allowed` too, if that is not null, or -1.
[[nodiscard]] inline int next_common(const MicrobatchSet& row, const MicrobatchSet* allowed,
                                     int from) {
  const std::span<const std::uint64_t> words = row.words();
  auto skipped = static_cast<unsigned>(from % 64);
  for (auto w = static_cast<std::size_t>(from / 64); w < words.size(); ++w) {
    std::uint64_t both = words[w] >> skipped << skipped;
    if (allowed != nullptr) both &= allowed->words()[w];
    if (both != 0) return static_cast<int>(w * 64) + std::countr_zero(both);
    skipped = 0;
  }
  return -1;
}

class Greatest {
 public:
  // Compares the tasks of `lane` in `rows` that are allowed: all of them, or the lowest one alone.
  // Among equal values the one that came first stays.
  enum class Of : std::uint8_t { all, lowest };
  template <class Value>
  void compare(Of of, const ReadyRows& rows, LaneId lane, const TaskSet* allowed,
               const Value& value) {
    const MicrobatchSet& row = rows.tasks().row(lane);
    const MicrobatchSet* in = allowed == nullptr ? nullptr : &allowed->row(lane);
    for (int m = next_common(row, in, 0); m >= 0;
         m = of == Of::all ? next_common(row, in, m + 1) : -1) {
      const std::int64_t of_this = value(Task{lane, m});
      if (choice_.starts() && of_this <= most_) continue;
      most_ = of_this;
      choice_ = {.kind = Choice::Kind::start, .task = {lane, m}, .until = Time{0}};
    }
  }
  [[nodiscard]] const Choice& choice() const { return choice_; }

 private:
  Choice choice_;
  std::int64_t most_ = 0;
};

}  // namespace ripeline::core
