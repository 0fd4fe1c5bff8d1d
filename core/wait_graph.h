// Follows the waits of all processes of a run to the process that causes them.
//
// Each process that could be asked has reported which tasks it runs and what it waits for
// (core/waiting.h). From each wait a chain of waits leads to what must happen first. A chain ends
// at a process that has failed, was lost, is silent, runs a task, or does nothing although it
// could; or it returns to one of its own waits and is a circle. The blame goes to
//   1. failed processes, then lost ones, then silent ones, in each group the earliest first,
//      whether others wait for them or not;
//   2. if there are none, the process where the chains of most processes end;
//   3. a circle only if no chain ends.
// A running task with collectives waits for the members that have not started it; a running
// reduction waits for the replicas that have not started it.
//
// Pure functions: the same input gives the same result. Any input is allowed: waits that do not fit
// the facts are left out, and waits for processes that do not exist are not followed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/layout.h"
#include "core/waiting.h"

namespace ripeline::core {

// The known state of a process. Times are by the clock of the process that asks.
struct RankState {
  enum class Is : std::uint8_t {
    well,    // it has answered
    failed,  // it ended its run, because something failed there
    lost,    // it cannot be reached any more
    silent,  // it gives no sign of life, or does not answer
  };
  Is is = Is::silent;
  Time since{0};       // failed, lost, silent: the start of this state
  std::string detail;  // failed, lost, silent: the reason or its last known action; may be empty
  RankWaits waits;     // well: what it runs and waits for
};

struct Blame {
  enum class Why : std::uint8_t {
    nobody,  // all processes are well, and none waits
    failed,
    lost,
    silent,
    runs,    // `task` runs, and others wait for its end
    owes,    // others wait for it; nothing that it runs or waits for would explain this
    starts,  // does not start `task`, although it waits for nobody
    circle,  // each of `processes` waits for the next, the last for the first
  };
  struct Link {
    int process = -1;
    Wait wait;
    bool operator==(const Link&) const = default;
  };
  Why why = Why::nobody;
  std::vector<int> processes;  // a circle's processes in order, each once; or one process
  Task task = {};              // runs, starts: the task; owes: the missing task, if it is one
  Time since{0};               // failed, lost, silent, runs
  std::int64_t step = -1;      // owes: the step of the process
  std::string detail;          // failed, lost, silent
  // The waits from process to process, where the last is for the culprit; all waits of a circle.
  std::vector<Link> chain;
};

// Process i has the state processes[i], numbered by the layout. The culprit is the same for every
// `from`; the chain is the shortest one that begins at process `from`, or at any process if `from`
// is -1 or does not wait for the culprit.
[[nodiscard]] Blame follow_waits(const ProgramFacts& facts, const Layout& layout,
                                 std::span<const RankState> processes, int from = -1);

// The culprit in one line, then a line for each link of the chain:
//   rank 1 has been running 1F3 for 62.0 s
//   rank 3: 3F3 waits for 2F3 from rank 2
//   rank 2: 2F3 waits for 1F3 from rank 1
[[nodiscard]] std::string print_blame(const ProgramFacts& facts, const Layout& layout,
                                      const Blame& blame, Time now);

}  // namespace ripeline::core
