// One child process with a time limit, without a shell.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ripeline::cli {

struct Process {
  std::vector<std::string> command;   // first a path, or a name to look for in PATH
  std::chrono::milliseconds limit;    // from its start until it has ended
  std::string_view input = {};        // its standard input
  bool shows_errors = false;          // its standard error is this program's; else it is dropped
  std::size_t most_output = 1 << 20;  // bytes that are kept; what it writes beyond them is dropped
};

struct ProcessResult {
  enum class How : unsigned char {
    exited,     // with any exit code
    signalled,  // something else ended it
    timed_out,  // and was killed
    failed,     // it could not be started, or was lost
  };
  How how = How::failed;
  int code = 0;     // its exit code, its signal, or the error number
  std::string out;  // its standard output
};

// Blocks until it has ended, which is no later than the limit. Thread-safe.
[[nodiscard]] ProcessResult run_process(const Process& process);

// For people, after the program's name: `ended with 3`, `cannot be run: No such file or directory`.
[[nodiscard]] std::string how_it_ended(const Process& process, const ProcessResult& finished);

}  // namespace ripeline::cli
