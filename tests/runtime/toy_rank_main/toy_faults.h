// The faults of toy_rank and their moments, as given by its arguments.
//
// A fault is `RANKS:WHAT@WHEN`. RANKS is a rank or `all`. WHEN is `start` (before the rank
// connects), `sN` (before step N), `N` (before the rank's Nth task, counted from 0) or `end` (after
// the last step). WHAT is
//   kill stop segfault term   the rank gets this signal
//   exit                      it exits with code 3
//   throw                     it throws an exception
//   memory                    little of its memory is left, and the next large allocation fails
//   descriptors               all its descriptors are in use from then on
//   deaf                      SIGTERM is ignored from then on
//   print                     it prints lines for ever
//   daemon                    it leaves a child in a session of its own, whose parent has ended
//   leak                      it leaves a file in /dev/shm
//   twin                      another process claims to be this rank
//   late                      with `start` only: it waits until the run is known to have failed
//   junk                      it sends bytes that are no frames over all its connections
//   replay edge flood         with `sN` only: to its peers it sends a message of step 0 again,
//                             a message of a missing edge, or many notices, respectively
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/facts.h"
#include "runtime/transport.h"

namespace ripeline {

// The transport and the program of a rank that sends wrong messages.
struct ToyContext {
  runtime::Transport* transport = nullptr;
  const core::ProgramFacts* facts = nullptr;
};

class ToyFaults {
 public:
  // Adds the fault if it is for this rank; returns false if the text is not a fault.
  bool add(std::string_view text, int rank);
  // Called when the rank has connected.
  void connected(const ToyContext& context) { context_ = context; }

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
  ToyContext context_;
  int tasks_ = 0;
};

}  // namespace ripeline
