// Engines: what a rank's engines may take now.
//
// An engine takes a task when it hands no message over, and runs nothing or one task alone that is
// a pair with it. Where a program has one engine, no rendezvous and no pairs, OneEngine is the
// same; Engines use it then. Memory is taken by the constructor only; one thread.
#pragma once

#include <array>
#include <vector>

#include "core/running.h"

namespace ripeline::core {

// The compute engine of a program of ProgramFacts::one_engine.
class OneEngine {
 public:
  OneEngine() = default;
  OneEngine(const ProgramFacts& /*facts*/, int /*rank*/) {}

  void begin_step(int /*microbatches*/) { idle_ = true; }
  void started(Task /*task*/) { idle_ = false; }
  void finished(Task /*task*/) { idle_ = true; }
  void taken(Message /*message*/) {}

  [[nodiscard]] bool may_take(Engine engine) const { return idle_ && engine == Engine::compute; }
  [[nodiscard]] bool takes(Engine engine, LaneId /*lane*/) const { return may_take(engine); }

 private:
  bool idle_ = true;
};

class Engines {
 public:
  // `facts` must outlive it.
  Engines(const ProgramFacts& facts, int rank);

  void begin_step(int microbatches);
  void started(Task task) {
    has_one_ ? one_.started(task) : of(task.lane).running.start(task.lane);
  }
  void finished(Task task) { has_one_ ? one_.finished(task) : finished_beside(task); }
  void taken(Message message);

  // Whether it might take a task; false settles it for all of them.
  [[nodiscard]] bool may_take(Engine engine) const {
    if (has_one_) return one_.may_take(engine);
    const Busy& busy = of(engine);
    return busy.handing == 0 && busy.running.may_take(facts_);
  }
  // Whether the lane is on it, and it takes a task of it.
  [[nodiscard]] bool takes(Engine engine, LaneId lane) const {
    if (has_one_) return one_.takes(engine, lane);
    const Busy& busy = of(engine);
    return facts_.lanes[static_cast<std::size_t>(lane)].engine == engine && busy.handing == 0 &&
           busy.running.takes(lane, facts_);
  }

 private:
  struct Busy {
    RunningTasks running;
    int handing = 0;  // messages
  };
  [[nodiscard]] const Busy& of(Engine engine) const {
    return busy_[static_cast<std::size_t>(engine)];
  }
  [[nodiscard]] Busy& of(LaneId lane) {
    return busy_[static_cast<std::size_t>(facts_.lanes[static_cast<std::size_t>(lane)].engine)];
  }

  void finished_beside(Task task);

  const ProgramFacts& facts_;
  bool has_one_;  // facts_.one_engine, for which one_ is all
  OneEngine one_;
  std::vector<EdgeId> rendezvous_;  // those that leave this rank, by edge
  int microbatches_ = 0;
  std::array<Busy, kEngines> busy_{};
};

}  // namespace ripeline::core
