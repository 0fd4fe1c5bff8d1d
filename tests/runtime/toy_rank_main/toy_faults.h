// What goes wrong in toy_rank, and when, as its arguments say.
//
// A fault is `RANKS:WHAT@WHEN`. RANKS is a rank or `all`. WHEN is `start` (before the rank
// connects), `step N` as `sN` (before that step), `N` (before the rank's Nth task, from 0) or `end`
// (after the last step). WHAT is
//   kill stop segfault term   the rank gets this signal
//   exit                      with exit code 3
//   throw                     an exception
//   deaf                      SIGTERM is ignored from then on
//   print                     lines without end
//   daemon                    a child in a session of its own, whose parent has ended
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline {

class ToyFaults {
 public:
  // False if the text is no fault.
  bool add(std::string_view text, int rank);

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

  std::vector<Fault> faults_;  // of this rank
  int tasks_ = 0;
};

}  // namespace ripeline
