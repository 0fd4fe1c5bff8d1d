// IdleWatch: finds why a rank's engines are idle, while they are idle.
//
// It observes a run with parts of core: ReadyRows tells which tasks have their needs met, and a
// Ledger tells whether there is room. An idle interval is split where its cause changes. Only time
// between an engine's first and last task counts. The time between an event and the look() that
// follows, which is 0 on a virtual clock, is attributed to the host. One thread; memory is
// allocated by begin_step().
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/ledger.h"
#include "core/ready_rows.h"
#include "simulate/simulator.h"
#include "trace/record.h"

namespace ripeline::simulate {

class IdleWatch {
 public:
  IdleWatch(const core::ProgramFacts& facts, int rank);

  void begin_step(int microbatches);
  // The message's producer ended at `ended`; until `sent` the message waited at its sender.
  void arrived(core::Message message, core::Time ended, core::Time sent);
  void finished(core::Task task, core::Time now);
  // Ends the idle interval; adds it to `report`, and also to `record` if that is not null.
  void started(core::Task task, core::Time now, std::int64_t step, EngineReport& report,
               trace::Record* record);
  // Facts, other than needs and room, that keep an engine idle.
  struct Kept {
    bool hands_over = false;  // the engine waits to hand over a rendezvous message
    bool holds = false;       // its arbiter holds the engine idle
    core::Task next;          // the only task that a committed order lets start; else lane -1
    // Set by a caller that evaluates a finished run: the task that the engine starts next. Once
    // this task could start, only the host delayed it. Lane -1 if the task is not known.
    core::Task starts = {};
  };
  // Notes that the engine starts nothing now, and why.
  void look(core::Engine engine, core::Time now, const Kept& kept);

 private:
  struct Piece {
    trace::Cause cause;
    core::Time start;
    core::Time end;
  };
  struct WatchedEngine {
    bool idle = false;  // whether the engine is idle after a first task
    std::int64_t left = 0;
    trace::Cause cause = trace::Cause::unknown;
    core::Time since{0};
    std::vector<Piece> pieces;  // the interval's pieces, except for the open one
  };

  [[nodiscard]] core::Engine engine_of(core::LaneId lane) const {
    return facts_.lanes[static_cast<std::size_t>(lane)].engine;
  }
  [[nodiscard]] WatchedEngine& of(core::Engine engine) {
    return engines_[static_cast<std::size_t>(engine)];
  }
  [[nodiscard]] trace::Cause cause_of(core::Engine engine, const Kept& kept) const;
  static void close(WatchedEngine& watched, core::Time now);

  const core::ProgramFacts& facts_;
  int rank_;
  core::ReadyRows rows_;
  core::Ledger ledger_;
  std::array<WatchedEngine, core::kEngines> engines_;
  std::array<int, core::kEngines> busy_{};  // the number of tasks that run
  std::array<std::array<bool, core::kEngines>, core::kEngines>
      feeds_{};  // from engine, to engine: whether an edge within the rank connects them
  // The message that arrived last, if it came after the last look() and had waited at its sender.
  bool last_waited_ = false;
  core::Time last_ended_{0};
  core::Time last_sent_{0};
};

}  // namespace ripeline::simulate
