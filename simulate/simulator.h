// Simulator: core's executors on a virtual clock, all ranks in one process.
//
// It carries out the executors' commands, and reports their effects to the executors at the times
// that a Timing determines. The executors and their arbiters alone decide which task starts when,
// so a simulated run is a possible run. All events of an instant are reported before any task
// starts at that instant. The same program, timing and options give the same run, byte by byte.
//
//   Simulator simulator(facts, make_arbiter);
//   const RunReport run = simulator.run(microbatches, timing, {.record = &record});
//
// An arbiter may be generated or interpreted. One thread. Memory is allocated before the first task
// starts, except for the growth of the agenda and the record.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/arbiter.h"
#include "simulate/timing.h"
#include "trace/record.h"

namespace ripeline::simulate {

inline constexpr int kCauses = 10;  // values of trace::Cause

// The report of one engine of one rank.
struct EngineReport {
  std::int64_t tasks = 0;
  core::Time first{0};  // the start of its first task
  core::Time last{0};   // the end of its last task
  core::Time busy{0};
  // The idle time between `first` and `last`, by trace::Cause; only with RunOptions::causes.
  std::array<core::Time, kCauses> idle{};
};

struct RunReport {
  core::Status status;  // a breach of the rules, or a refusal; ok if the run is stuck
  bool stuck = false;
  std::string waiting;  // if the run is stuck: who waits for what
  core::Time makespan{0};
  core::Time span{0};  // last end - first start, of the rank where it is longest
  core::Time work{0};  // the busy time of the busiest compute engine
  std::int64_t tasks = 0;
  std::int64_t messages = 0;
  std::int64_t controls = 0;  // announcements and grants
  std::int64_t notices = 0;
  std::vector<std::array<EngineReport, core::kEngines>> ranks;
  std::vector<std::int64_t> peaks;  // per pool

  [[nodiscard]] core::Time bubble() const { return span - work; }
  // Computes makespan, span, work and tasks from `ranks`.
  void add_up();
};

struct RunOptions {
  trace::Record* record = nullptr;  // borrowed; null if there is none
  bool causes = false;              // whether to find the causes of idle time, also for the record
};

class Simulator {
 public:
  using MakeArbiter = std::function<std::unique_ptr<core::Arbiter>(int rank)>;

  // `facts` are borrowed.
  Simulator(const core::ProgramFacts& facts, const MakeArbiter& make_arbiter);
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // Runs one step. May be called again. After a failed run, each call returns the same failure.
  [[nodiscard]] RunReport run(int microbatches, const Timing& timing, const RunOptions& options);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ripeline::simulate
