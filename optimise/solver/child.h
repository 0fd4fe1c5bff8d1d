// Runs a program once in a process of its own: bytes go in, bytes come out, within a time limit.
//
// Whatever the program does, the caller gets a ChildRun: the process is in a group of its own,
// which gets SIGTERM when the time is over or `go_on` is false, and SIGKILL `grace` later. No
// process of the group is left afterwards, and the caller gets no signal. Blocks; thread-safe. The
// calling thread must live as long as the call.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace ripeline::optimise {

struct ChildLimits {
  std::chrono::milliseconds time{10000};
  std::chrono::milliseconds grace{3000};
  std::size_t most_output = std::size_t{1} << 26;  // bytes; a program that writes more is killed
  std::function<bool()> go_on = {};                // asked every 50 ms; empty: always
};

struct ChildRun {
  std::string not_started = {};  // why it did not start; the other fields then mean nothing
  std::string output = {};
  std::string errors = {};  // the beginning of its standard error
  int exit_code = 0;
  int signal = 0;            // the signal that ended it; 0: it exited
  bool was_stopped = false;  // by this function, with SIGTERM
  bool was_killed = false;   // with SIGKILL
  bool wrote_too_much = false;
};

// The program's only argument is the number of this process, by which it can check that this
// process still is its parent.
[[nodiscard]] ChildRun run_child(const std::string& program, std::string_view input,
                                 const ChildLimits& limits);

}  // namespace ripeline::optimise
