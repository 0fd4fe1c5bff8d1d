// A chain of two ranks, F then B, written by hand so that core's tests need no compiler of
// programs; and an arbiter whose choice the test sets.
#pragma once

#include <vector>

#include "core/arbiter.h"

namespace ripeline::core::fake {

inline constexpr OpFacts kOps[] = {{"F", OpKind::forward}, {"B", OpKind::backward}};
inline constexpr LaneFacts kLanes[] = {
    {0, 0, 0, 0, Engine::compute},
    {1, 0, 0, 0, Engine::compute},  // lanes: 0F is 0, 0B is 1
    {0, 1, 1, 0, Engine::compute},
    {1, 1, 1, 0, Engine::compute},  // lanes: 1F is 2, 1B is 3
};
inline constexpr EdgeFacts kEdges[] = {{0, 1}, {3, 1}, {0, 2}, {2, 3}};
inline constexpr PoolFacts kPools[] = {{"activation", "", 0, 0, 2}, {"activation", "", 1, 1, 1}};
inline constexpr UseFacts kUses[] = {{0, 0, 1, 0}, {1, 0, 0, 1}, {2, 1, 1, 0}, {3, 1, 0, 1}};
inline constexpr ProgramFacts kFacts = {
    .core_version = kCoreVersion,
    .name = "chain",
    .hash = 1,
    .proved = true,
    .ranks = 2,
    .stages = 2,
    .min_microbatches = 1,
    .max_microbatches = 8,
    .ops = kOps,
    .lanes = kLanes,
    .edges = kEdges,
    .pools = kPools,
    .uses = kUses,
};

inline Choice start(LaneId lane, int microbatch) {
  return {.kind = Choice::Kind::start, .task = {lane, microbatch}, .until = Time{0}};
}

// An arbiter that makes the choice `next`, and records the events that it receives.
class FakeArbiter final : public Arbiter {
 public:
  explicit FakeArbiter(int rank, const ProgramFacts& facts = kFacts) : facts_(facts), rank_(rank) {}

  [[nodiscard]] const ProgramFacts& facts() const override { return facts_; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] Status begin_step(std::int64_t /*step*/, int /*microbatches*/) override {
    ++steps;
    return {};
  }
  void on_finished(Task task, Time /*now*/) override { finished_tasks.push_back(task); }
  void on_arrived(Message message, Time /*now*/) override { arrived_messages.push_back(message); }
  void on_taken(Message message, Time /*now*/) override { taken_messages.push_back(message); }
  [[nodiscard]] Task next_in_order(Engine /*engine*/) const override { return in_order; }
  void ready(Engine /*engine*/, TaskSet& /*out*/) const override {}
  [[nodiscard]] Choice choose(Engine /*engine*/, const TaskSet* /*allowed*/,
                              Time /*now*/) const override {
    return next;
  }
  void started(Task task, Time /*now*/) override {
    started_tasks.push_back(task);
    next = {};
  }

  Choice next;
  Task in_order;
  int steps = 0;
  std::vector<Task> started_tasks;
  std::vector<Task> finished_tasks;
  std::vector<Message> arrived_messages;
  std::vector<Message> taken_messages;

 private:
  const ProgramFacts& facts_;
  int rank_;
};

}  // namespace ripeline::core::fake
