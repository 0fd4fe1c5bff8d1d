// ReadyRows: which tasks of a rank have their needs met.
//
// What every generated arbiter shares. It counts, per task, the tasks that it needs and that are
// not here yet: those that the edges of its lane say, and for a sequential op the microbatch
// before. At zero the task enters its lane's row, from which it is taken when it starts. Room in
// resources, orders and hints are the generated code's. Memory is taken by begin_step() only; one
// thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/arbiter.h"

namespace ripeline::core {

class ReadyRows {
 public:
  // `facts` must outlive it. `sequential_ops` are indices into facts.ops.
  ReadyRows(const ProgramFacts& facts, int rank, std::initializer_list<int> sequential_ops = {})
      : ReadyRows(facts, rank, std::span(sequential_ops.begin(), sequential_ops.size())) {}
  ReadyRows(const ProgramFacts& facts, int rank, std::span<const int> sequential_ops);

  [[nodiscard]] int rank() const { return rank_; }
  // The rank's lanes are first_lane() .. end_lane() - 1.
  [[nodiscard]] LaneId first_lane() const { return first_lane_; }
  [[nodiscard]] LaneId end_lane() const { return end_lane_; }
  // -1 if the op is not there.
  [[nodiscard]] LaneId lane(int op, std::int64_t chunk) const {
    return chunk >= 0 && chunk < chunks_ ? lanes_[static_cast<std::size_t>(chunk * ops_ + op)] : -1;
  }

  // Refuses a count outside the program's range, and then changes nothing.
  [[nodiscard]] Status begin_step(int microbatches);
  void arrived(Message message);
  void started(Task task) { tasks_.remove(task); }
  void finished(Task task);

  // The tasks that have their needs met and have not started.
  [[nodiscard]] const TaskSet& tasks() const { return tasks_; }
  // Whether `task` is one of them; a task beyond the step's microbatches is not.
  [[nodiscard]] bool contains(Task task) const {
    return task.lane >= 0 && task.microbatch < microbatches_ && tasks_.contains(task);
  }
  // Starts the lowest microbatch of them that `lane` has, among those in `allowed` if that is not
  // null; nothing if there is none, or no lane (-1).
  [[nodiscard]] Choice offer(LaneId lane, const TaskSet* allowed) const {
    if (lane < 0) return {};
    const MicrobatchSet& row = tasks_.row(lane);
    const int microbatch =
        allowed == nullptr ? row.lowest() : row.lowest_common(allowed->row(lane));
    if (microbatch < 0) return {};
    return {.kind = Choice::Kind::start, .task = {lane, microbatch}, .until = Time{0}};
  }
  // Makes `out` an empty set of this rank's tasks.
  void reset(TaskSet& out) const { out.reset(first_lane_, end_lane_ - first_lane_, microbatches_); }

 private:
  struct Needs {
    std::uint32_t same = 0;     // edges to the producer's task of the same microbatch
    std::vector<EdgeId> other;  // the others
  };

  // The task of the edge's producer is here.
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
  int ops_ = 0;
  int chunks_ = 0;
  int microbatches_ = 0;
  std::vector<LaneId> lanes_;               // by chunk, then op; -1 where there is none
  std::vector<std::uint8_t> sequential_;    // per own lane
  std::vector<Needs> needs_;                // per own lane
  std::vector<std::vector<EdgeId>> feeds_;  // per own lane: edges to consumers on this rank
  std::vector<std::uint32_t> unmet_;        // per own lane and microbatch
  TaskSet tasks_;
};

}  // namespace ripeline::core
