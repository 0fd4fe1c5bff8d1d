// A solver that is a program: it reads an SMT-LIB 2 file and prints `sat` or `unsat`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "certificates/recheck.h"

namespace ripeline::certificates {

struct SolverProgram {
  std::string command;        // a path, or a name to look for in PATH
  std::chrono::seconds each;  // for one question

  // The first line that `--version` prints; nullopt if the program cannot be run.
  [[nodiscard]] std::optional<std::string> version() const;
  // The replies to the texts, in the same order. Blocks; one question per core is asked at a time.
  [[nodiscard]] std::vector<Reply> ask(const std::vector<std::string>& texts) const;
};

}  // namespace ripeline::certificates
