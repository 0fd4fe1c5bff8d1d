// The waits of all processes of a run, followed to whoever causes them.
//
// Each process that could be asked has said what it runs and what it waits for (core/waiting.h).
// From there every wait leads to what must happen first, and so on, until a chain ends at a process
// that has failed, was lost, is silent, runs a task or does nothing although it could; or comes
// back to where it was. That process, or that circle, is to blame:
//   1. processes that have failed, then lost ones, then silent ones, the earliest first: there is
//      something wrong with them, whoever waits for them;
//   2. else where the chains of most processes end;
//   3. a circle only if no chain ends.
// A task with collectives that runs waits for the members that have not started it, and one that
// reduces for such replicas.
//
// Pure functions, the same for the same input. Any input will do: waits that do not fit the facts
// are left out, processes that are not there owe nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/layout.h"
#include "core/waiting.h"

namespace ripeline::core {

// The known state of a process. Times are of the clock of whoever asks.
struct RankState {
  enum class Is : std::uint8_t {
    well,    // it has answered
    failed,  // it ended its run, for a reason of its own
    lost,    // it cannot be reached any more
    silent,  // it gives no sign of life, or does not answer
  };
  Is is = Is::silent;
  Time since{0};     // failed, lost, silent: since when
  std::string said;  // for people, with these: why, or the last thing that it did; may be empty
  RankWaits waits;   // well
};

struct Blame {
  enum class Why : std::uint8_t {
    nobody,  // all are well, and none waits
    failed,
    lost,
    silent,
    runs,    // `task` runs, and others wait for its end
    owes,    // others wait for it, and it neither runs nor waits for anything on which that hangs
    starts,  // does not start `task`, for which nobody owes it anything
    circle,  // each of `processes` waits for the next, the last for the first
  };
  struct Link {
    int process = -1;
    Wait wait;
    bool operator==(const Link&) const = default;
  };
  Why why = Why::nobody;
  std::vector<int> processes;  // a circle's in its order, each once; else one
  Task task = {};              // runs, starts; owes: what is missing, if it is a task
  Time since{0};               // failed, lost, silent, runs
  std::int64_t step = -1;      // owes: that of the process
  std::string said;            // failed, lost, silent
  // Each waits for the next, and the last for the culprit; of a circle, all of it.
  std::vector<Link> chain;
};

// The process with the number i is processes[i], by the layout. Who is to blame is the same for
// all; the chain is the shortest that begins at process `from`, or if that is -1 or does not wait
// for the culprit, anywhere.
[[nodiscard]] Blame follow_waits(const ProgramFacts& facts, const Layout& layout,
                                 std::span<const RankState> processes, int from = -1);

// The culprit in one line, then a line for each link of the chain:
//   rank 1 has been running 1F3 for 62.0 s
//   rank 3: 3F3 waits for 2F3 from rank 2
//   rank 2: 2F3 waits for 1F3 from rank 1
[[nodiscard]] std::string print_blame(const ProgramFacts& facts, const Layout& layout,
                                      const Blame& blame, Time now);

}  // namespace ripeline::core
