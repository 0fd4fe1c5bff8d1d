// Faults of toy_rank, and when they happen, as its arguments say.
//
// A fault is `RANKS:WHAT@WHEN`. RANKS is a rank or `all`. WHEN is `start` (before the rank
// connects), `step N` as `sN` (before that step), `N` (before the rank's Nth task, from 0) or `end`
// (after the last step). WHAT is
//   kill stop segfault term   the rank gets this signal
//   exit                      with exit code 3
//   throw                     an exception
//   memory                    its memory is taken, but for little, and the next allocation fails
//   descriptors               all its descriptors are taken, and stay so
//   deaf                      SIGTERM is ignored from then on
//   print                     lines without end
//   daemon                    a child in a session of its own, whose parent has ended
//   leak                      a file in /dev/shm
//   twin                      another process that takes itself for this rank
//   late                      it waits until the run is known to have failed: for `start`
//   junk                      bytes that are no frames, into all its connections
//   replay edge flood         to the ranks of its edges, with `sN` alone: a message of step 0 once
//                             more; one of an edge that there is not; many notices
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/facts.h"
#include "runtime/transport.h"

namespace ripeline {

// Where a rank is that sends what it should not.
struct ToyPlace {
  runtime::Transport* transport = nullptr;
  const core::ProgramFacts* facts = nullptr;
};

class ToyFaults {
 public:
  // False if the text is no fault.
  bool add(std::string_view text, int rank);
  // It is connected.
  void come_to(const ToyPlace& place) { place_ = place; }

  void start() { meet("start"); }
  void step(int number) { meet("s" + std::to_string(number)); }
  void task() { meet(std::to_string(tasks_++)); }
  void end() { meet("end"); }

 private:
  struct Fault {
    std::string what;
    std::string when;
  };
  void meet(const std::string& when) const;

  std::vector<Fault> faults_;  // this rank's
  ToyPlace place_;
  int tasks_ = 0;
};

}  // namespace ripeline
