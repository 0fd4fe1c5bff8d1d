// Scenario: the programs, durations and faults of a simulated run.
//
// The seed alone determines everything except the position of a fault, which is drawn from the
// length of the run without the fault (joint_run.h). Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/protocol/faults.h"
#include "spec/program.h"
#include "tests/joint/random.h"

namespace ripeline::joint {

enum class FaultKind : std::uint8_t {
  none,     // only delays
  slow,     // a task takes longer than the limit on silence, but less than the limit on a stall
  pause,    // a process is stopped for less than the limit on silence
  kill,     // a process ends without a report
  stop,     // a process is stopped for good: it does nothing and gives no sign of life
  resume,   // a process is stopped for longer than the limit on silence, and then continues
  cut,      // two processes lose their connection
  fail,     // a task fails
  refuse,   // the work refuses to begin a step
  endless,  // a task does not end
  garbage,  // a process sends a wrong message
  apart,    // a process gathers something different from the others
  two,      // two faults of the kinds kill, stop, cut, fail and endless
};
inline constexpr std::array<std::string_view, 13> kFaultKinds = {
    "none", "slow",   "pause",   "kill",    "stop",  "resume", "cut",
    "fail", "refuse", "endless", "garbage", "apart", "two"};

struct Fault {
  FaultKind kind = FaultKind::none;
  int process = 0;
  int other = 0;              // the other end of a cut, or the receiver of garbage
  core::Time lasts{0};        // the length of a task, a pause or a stop
  std::uint64_t seed = 0;     // draws the garbage, or the way in which a process is slow
  std::int64_t at_event = 0;  // its position, as a number of events of the timeline
};

enum class EngineKind : std::uint8_t {
  in_line,  // tasks run in the thread of the loop
  beside,   // one thread beside the loop
  all,      // all tasks that start run at the same time
};

struct ProcessTraits {
  core::Time clock_offset{0};
  std::int64_t clock_drift = 0;  // parts in a million
  EngineKind engine = EngineKind::in_line;
  int slowness = 1;  // the factor by which its tasks take longer
  core::Time heartbeat_phase{0};
};

// A message's, task's or pause's duration: at most `usual`; at most `rare` for 1 in `rare_one_in`.
struct Delays {
  core::Time usual{0};
  core::Time rare{0};
  int rare_one_in = 1000;
  [[nodiscard]] core::Time draw(Random& random) const {
    return random.between(core::Time(1000), random.one_in(rare_one_in) ? rare : usual);
  }
};

struct Subject {
  std::string text;
  spec::Program program;
  int microbatches = 1;
};

struct Scenario {
  std::uint64_t seed = 0;
  std::vector<Subject> subjects;  // one program, or two that take turns
  int processes = 1;
  std::vector<std::vector<int>> neighbours;  // by process
  int steps = 1;                             // per program
  bool gathers = false;                      // gathers between steps; always with two programs
  std::vector<ProcessTraits> traits;         // by process
  Delays messages;
  Delays tasks;
  Delays pauses;  // between two actions of a process
  runtime::protocol::FaultLimits limits;
  core::Time heartbeat = std::chrono::seconds(5);
  std::vector<Fault> faults;
};

// Draws a scenario of this kind, whose faults have no position yet. If `connects_all`, and
// otherwise for a third of the seeds, every process is connected to every other one; else only
// neighbours are connected (runtime/protocol/neighbours.h).
[[nodiscard]] Scenario draw_scenario(std::uint64_t seed, FaultKind kind, bool connects_all);
// The kind of fault that this seed draws.
[[nodiscard]] FaultKind kind_of(std::uint64_t seed);
void place_faults(Scenario& scenario, std::int64_t events);

[[nodiscard]] std::string_view name_of(FaultKind kind);
// A description: which process suffers what.
[[nodiscard]] std::string describe(const Fault& fault);
[[nodiscard]] std::string describe(const Scenario& scenario);

}  // namespace ripeline::joint
