// ReadyRows: which tasks of a rank have their needs met.
//
// Counts, for each task, the unended tasks that must end before it: those that the edges of its
// lane name and, if the op is sequential, the lane's previous task. At zero the task enters the row
// of its lane; it leaves the row when it starts. Only begin_step() allocates memory; one thread.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/arbiter.h"

namespace ripeline::core {

class ReadyRows {
 public:
  // `facts` must outlive this object.
  ReadyRows(const ProgramFacts& facts, int rank);

  [[nodiscard]] int rank() const { return rank_; }
  // The rank's lanes are first_lane() .. end_lane() - 1.
  [[nodiscard]] LaneId first_lane() const { return first_lane_; }
  [[nodiscard]] LaneId end_lane() const { return end_lane_; }
  [[nodiscard]] LaneSpan lanes() const { return {first_lane_, end_lane_}; }

  // Refuses a microbatch count outside the program's range; in that case it changes nothing.
  [[nodiscard]] Status begin_step(int microbatches);
  void arrived(Message message);
  void started(Task task) { tasks_.remove(task); }
  void finished(Task task);

  // The tasks whose needs are met and which have not started.
  [[nodiscard]] const TaskSet& tasks() const { return tasks_; }
  // Whether `task` is in tasks(); false for a task beyond the step's microbatches.
  [[nodiscard]] bool contains(Task task) const {
    return task.lane >= 0 && task.microbatch < microbatches_ && tasks_.contains(task);
  }
  // Chooses the lane's lowest microbatch that is in tasks() and, unless `allowed` is null, in
  // `allowed`; chooses nothing if there is none, or if the lane is -1.
  [[nodiscard]] Choice offer(LaneId lane, const TaskSet* allowed) const {
    const int microbatch = lane < 0 ? -1 : lowest(lane, allowed);
    if (microbatch < 0) return {};
    return {.kind = Choice::Kind::start, .task = {lane, microbatch}, .until = Time{0}};
  }
  // The microbatch that offer() would start, or -1; `lane` must be one of the rank's.
  [[nodiscard]] int lowest(LaneId lane, const TaskSet* allowed) const {
    const MicrobatchSet& row = tasks_.row(lane);
    return allowed == nullptr ? row.lowest() : row.lowest_common(allowed->row(lane));
  }
  // The lowest microbatch as in lowest(), but not below `from`.
  [[nodiscard]] int next(LaneId lane, const TaskSet* allowed, int from) const {
    const std::span<const std::uint64_t> words = tasks_.row(lane).words();
    auto skipped = static_cast<unsigned>(from % 64);
    for (auto w = static_cast<std::size_t>(from / 64); w < words.size(); ++w) {
      std::uint64_t both = words[w] >> skipped << skipped;
      if (allowed != nullptr) both &= allowed->row(lane).words()[w];
      if (both != 0) return static_cast<int>(w * 64) + std::countr_zero(both);
      skipped = 0;
    }
    return -1;
  }
  // Makes `out` an empty set of this rank's tasks.
  void reset(TaskSet& out) const { out.reset(first_lane_, end_lane_ - first_lane_, microbatches_); }

 private:
  struct Needs {
    std::uint32_t same = 0;     // edges to the producer's task of the same microbatch
    std::vector<EdgeId> other;  // edges that need other tasks of the producer
  };

  // Reports that the producer's task of `microbatch` has ended and its message, if any, is here.
  void here(EdgeId edge, int microbatch);
  void here_otherwise(EdgeId edge, int microbatch);
  void meet(LaneId lane, int microbatch);
  [[nodiscard]] bool is_sequential(LaneId lane) const {
    return sequential_[static_cast<std::size_t>(lane - first_lane_)] != 0;
  }

  const ProgramFacts& facts_;
  int rank_;
  LaneId first_lane_ = 0;
  LaneId end_lane_ = 0;
  int microbatches_ = 0;
  std::vector<std::uint8_t> sequential_;    // per own lane
  std::vector<Needs> needs_;                // per own lane
  std::vector<std::vector<EdgeId>> feeds_;  // per own lane: edges to consumers on this rank
  std::vector<std::uint32_t> unmet_;        // per own lane and microbatch
  TaskSet tasks_;
};

}  // namespace ripeline::core
