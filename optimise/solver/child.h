// One run of a program in a process of its own: bytes in, bytes out, within a time.
//
// Whatever the program does, the caller gets a ChildRun: the process is in a group of its own,
// which gets SIGTERM when the time is over or `go_on` says so, and SIGKILL `grace` later. Nothing
// of it is left afterwards, and the caller gets no signal. Blocks; thread-safe. The thread that
// calls must live as long as the call.
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
  std::size_t most_output = std::size_t{1} << 26;  // bytes; what writes more is killed
  std::function<bool()> go_on = {};                // asked every 50 ms; empty: always
};

struct ChildRun {
  std::string not_started = {};  // why; the rest then means nothing
  std::string output = {};
  std::string errors = {};  // the beginning of what it wrote to standard error
  int exit_code = 0;
  int signal = 0;            // the signal that ended it; 0: it ended by itself
  bool was_stopped = false;  // by this function, with SIGTERM
  bool was_killed = false;   // with SIGKILL
  bool wrote_too_much = false;
};

// The program's one argument is the number of this process, so that it can tell whether that still
// is its parent.
[[nodiscard]] ChildRun run_child(const std::string& program, std::string_view input,
                                 const ChildLimits& limits);

}  // namespace ripeline::optimise
