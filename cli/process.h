// One child process with a time limit, without a shell.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace ripeline::cli {

struct Finished {
  enum class How : unsigned char {
    exited,     // with any exit code
    timed_out,  // and was killed
    not_found,  // there is no such program
    failed,     // it could not be started, or was killed
  };
  How how = How::failed;
  std::string out;  // its standard output; standard error is dropped
};

// `command[0]` is a path, or a name to look for in PATH. Blocks until it has ended. Thread-safe.
[[nodiscard]] Finished run_process(const std::vector<std::string>& command,
                                   std::chrono::milliseconds limit);

}  // namespace ripeline::cli
