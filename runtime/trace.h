// Trace: what one rank did when, as Chrome's trace events (docs/formats.md).
//
// Recording takes no lock and no I/O; write() makes one JSON file that chrome://tracing and
// Perfetto open. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/facts.h"
#include "core/status.h"
#include "core/task.h"

namespace ripeline::runtime {

class Trace {
 public:
  Trace(const core::ProgramFacts& facts, int rank) : facts_(facts), rank_(rank) {}

  void task(std::int64_t step, core::Task task, core::Time start, core::Time end);
  void arrival(std::int64_t step, core::Message message, core::Time at);

  // This rank's events as the text of JSON objects, without the enclosing array, so that ranks can
  // be joined.
  [[nodiscard]] std::string events() const;

 private:
  struct TaskEvent {
    std::int64_t step;
    core::Task task;
    core::Time start;
    core::Time end;
  };
  struct ArrivalEvent {
    std::int64_t step;
    core::Message message;
    core::Time at;
  };
  const core::ProgramFacts& facts_;
  int rank_;
  std::vector<TaskEvent> tasks_;
  std::vector<ArrivalEvent> arrivals_;
};

// One file of the events() of all ranks. Fails by status when the file cannot be written.
core::Status write_trace(const std::string& path, const core::ProgramFacts& facts,
                         const std::vector<std::string>& events_by_rank);

}  // namespace ripeline::runtime
