// Engines: the tasks that a rank's engines can take now.
//
// An engine takes a task when the engine hands no message over, and is idle or runs only one task,
// a pair with the new one. For a program with one engine, no rendezvous and no pairs, Engines uses
// OneEngine, which does the same. Only the constructor allocates memory; one thread.
#pragma once

#include <array>
#include <vector>

#include "core/running.h"

namespace ripeline::core {

// The compute engine of a program whose ProgramFacts::one_engine is true.
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
  // `facts` must outlive this object.
  Engines(const ProgramFacts& facts, int rank);

  void begin_step(int microbatches);
  void started(Task task) {
    has_one_ ? one_.started(task) : of(task.lane).running.start(task.lane);
  }
  void finished(Task task) { has_one_ ? one_.finished(task) : finished_beside(task); }
  void taken(Message message);

  // If false, the engine can take no task of any lane; if true, takes() decides for each lane.
  [[nodiscard]] bool may_take(Engine engine) const {
    if (has_one_) return one_.may_take(engine);
    const Busy& busy = of(engine);
    return busy.handing == 0 && busy.running.may_take(facts_);
  }
  // Whether the lane is on the engine, and the engine can take a task of the lane.
  [[nodiscard]] bool takes(Engine engine, LaneId lane) const {
    if (has_one_) return one_.takes(engine, lane);
    const Busy& busy = of(engine);
    return facts_.lanes[static_cast<std::size_t>(lane)].engine == engine && busy.handing == 0 &&
           busy.running.takes(lane, facts_);
  }

 private:
  struct Busy {
    RunningTasks running;
    int handing = 0;  // messages that are being handed over
  };
  [[nodiscard]] const Busy& of(Engine engine) const {
    return busy_[static_cast<std::size_t>(engine)];
  }
  [[nodiscard]] Busy& of(LaneId lane) {
    return busy_[static_cast<std::size_t>(facts_.lanes[static_cast<std::size_t>(lane)].engine)];
  }

  void finished_beside(Task task);

  const ProgramFacts& facts_;
  bool has_one_;  // facts_.one_engine; then only one_ is used
  OneEngine one_;
  std::vector<EdgeId> rendezvous_;  // the rendezvous edges that leave this rank, in order
  int microbatches_ = 0;
  std::array<Busy, kEngines> busy_{};
};

}  // namespace ripeline::core
