// Scenario: what a seed stands for: programs, how long things take, and what goes wrong.
//
// Most are drawn from the seed alone; where in the run a fault comes is drawn of the length that
// the run has without it (joint_run.h). Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/faults.h"
#include "spec/program.h"
#include "tests/joint/random.h"

namespace ripeline::joint {

enum class FaultKind : std::uint8_t {
  none,     // only delays
  slow,     // a task takes longer than a process may be silent, and not as long as a stall
  pause,    // a process is stopped, for less than it may be silent
  kill,     // a process ends without a word
  stop,     // a process is stopped: it does nothing and gives no sign of life
  resume,   // the same, and after longer than it may be silent it goes on
  cut,      // two processes lose their connection
  fail,     // a task fails
  refuse,   // the work does not begin a step
  endless,  // a task does not end
  garbage,  // a process sends what it must not
  apart,    // a process gathers what the others do not
  two,      // two of kill, stop, cut, fail and endless
};
inline constexpr std::array<std::string_view, 13> kFaultKinds = {
    "none", "slow",   "pause",   "kill",    "stop",  "resume", "cut",
    "fail", "refuse", "endless", "garbage", "apart", "two"};

struct Fault {
  FaultKind kind = FaultKind::none;
  int process = 0;
  int other = 0;              // the other end of a cut, or of garbage
  core::Time lasts{0};        // the length of a task, a pause or a stop
  std::uint64_t seed = 0;     // draws the garbage, or how a process is slow
  std::int64_t at_event = 0;  // by the timeline's count
};

enum class EngineKind : std::uint8_t {
  in_line,  // tasks run in the loop
  beside,   // one thread beside it
  all,      // all that start run beside each other
};

struct ProcessTraits {
  core::Time clock_offset{0};
  std::int64_t clock_drift = 0;  // parts in a million
  EngineKind engine = EngineKind::in_line;
  int slowness = 1;  // its tasks take so many times as long
  core::Time heartbeat_phase{0};
};

// The time that a message, task or pause takes: up to `usual`, one in `rare_one_in` up to `rare`.
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
  std::vector<Subject> subjects;  // one program, or two in turn
  int processes = 1;
  std::vector<std::vector<int>> neighbours;  // by process
  int steps = 1;                             // per program
  bool gathers = false;                      // between the steps; if there are two programs, always
  std::vector<ProcessTraits> traits;         // by process
  Delays messages;
  Delays tasks;
  Delays pauses;  // between two things that a process does
  runtime::process::FaultLimits limits;
  core::Time heartbeat = std::chrono::seconds(5);
  std::vector<Fault> faults;
};

// Draws a scenario of this kind: its faults have no position yet. Each process is connected with
// each, or, in two of three seeds and unless `connects_all`, with its neighbours
// (runtime/process/neighbours.h).
[[nodiscard]] Scenario draw_scenario(std::uint64_t seed, FaultKind kind, bool connects_all);
// The kind that this seed stands for.
[[nodiscard]] FaultKind kind_of(std::uint64_t seed);
void place_faults(Scenario& scenario, std::int64_t events);

[[nodiscard]] std::string_view name_of(FaultKind kind);
// In words: who suffers what.
[[nodiscard]] std::string describe(const Fault& fault);
[[nodiscard]] std::string describe(const Scenario& scenario);

}  // namespace ripeline::joint
