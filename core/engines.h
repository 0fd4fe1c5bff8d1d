// Engines: which of a rank's engines are idle, where there are several or some link is a
// rendezvous.
//
// An engine is idle when it runs no task and hands no message over. For generated arbiters; memory
// is taken by the constructor only; one thread.
#pragma once

#include <array>
#include <vector>

#include "core/facts.h"

namespace ripeline::core {

class Engines {
 public:
  // `facts` must outlive it.
  Engines(const ProgramFacts& facts, int rank);

  void begin_step(int microbatches);
  void started(Task task) { ++busy(task.lane); }
  void finished(Task task);
  void taken(Message message);

  [[nodiscard]] bool idle(Engine engine) const {
    return busy_[static_cast<std::size_t>(engine)] == 0;
  }

 private:
  [[nodiscard]] int& busy(LaneId lane) {
    return busy_[static_cast<std::size_t>(facts_.lanes[static_cast<std::size_t>(lane)].engine)];
  }

  const ProgramFacts& facts_;
  std::vector<EdgeId> rendezvous_;  // those that leave this rank, by edge
  int microbatches_ = 0;
  std::array<int, kEngines> busy_{};  // per engine: the task that runs, and messages handed over
};

}  // namespace ripeline::core
