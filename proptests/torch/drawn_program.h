// Programs for the property of gradients: random programs, and the library's programs with each
// dispatch that their hints and orders allow. Each program has the members and replicas of its run.
//
// A run has at most kMostProcesses processes. Draws are RapidCheck's.
#pragma once

#include <string>

#include "spec/program.h"

namespace ripeline::proptests {

constexpr int kMostProcesses = 8;

struct DrawnProgram {
  spec::Program program;
  std::string text;    // with the options after it, as the tool expects them
  std::string source;  // `random`, or the schedule's name and dispatch
  int microbatches = 1;
};

// Draws a program. Fails the property if its text does not compile.
[[nodiscard]] DrawnProgram draw_program();

}  // namespace ripeline::proptests
