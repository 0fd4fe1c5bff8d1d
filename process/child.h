// Runs a program once in its own process, with given input, collected output and a time limit.
//
// Whatever the program does, run_child() returns a ChildRun, and the caller gets no signal. When
// the time is over or `go_on` returns false, the program gets SIGTERM, and after `grace` SIGKILL.
// Blocks; thread-safe. The calling thread must live until run_child() returns.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline::process {

struct Child {
  std::vector<std::string> command;  // a path or a name to find in PATH, then arguments; no shell
  std::chrono::milliseconds time;    // the limit, from the start to the end
  std::chrono::milliseconds grace{0};
  std::string_view input = {};
  std::size_t most_output = std::size_t{1} << 20U;  // bytes; a program that writes more is killed
  bool shows_errors = false;                        // the child inherits standard error
  bool has_group = false;            // the child gets a process group, which is killed at the end
  std::function<bool()> go_on = {};  // called every 50 ms; false ends the program; may be empty
  // If `go_on` returns false, the program gets SIGKILL at once, and `grace` does not count. Its
  // ChildRun is like that of a program that was killed after the grace period, so how_it_ended()
  // says that it did not end within `time`.
  bool is_abandoned = false;
};

struct ChildRun {
  int not_started = 0;  // an error number, or 0; if not 0, the other fields mean nothing
  std::string output = {};
  std::string errors = {};  // the beginning of its standard error, unless that is shown
  int exit_code = 0;
  int signal = 0;            // the signal that ended the program; 0 if it exited
  bool was_stopped = false;  // run_child() sent SIGTERM
  bool was_killed = false;   // run_child() sent SIGKILL after the grace period
  bool wrote_too_much = false;
  [[nodiscard]] bool ended_well() const {
    return not_started == 0 && !was_stopped && !wrote_too_much && signal == 0 && exit_code == 0;
  }
};

[[nodiscard]] ChildRun run_child(const Child& child);

// The text after the program's name: `ended with 3`, `cannot be run: No such file or directory`.
[[nodiscard]] std::string how_it_ended(const Child& child, const ChildRun& run);

}  // namespace ripeline::process
