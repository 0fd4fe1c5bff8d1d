// Programs of the property of gradients: random ones, and those of the library with each dispatch
// that their hints and orders allow. To either are given the members and replicas of a run.
//
// A run has at most kMostProcesses processes. Draws are RapidCheck's.
#pragma once

#include <string>

#include "spec/program.h"

namespace ripeline::proptests {

constexpr int kMostProcesses = 8;

struct DrawnProgram {
  spec::Program program;
  std::string text;    // and below it the options, as the tool takes them
  std::string source;  // `random`, or the schedule's name with the dispatch
  int microbatches = 1;
};

// Fails the property if what was drawn is no program of the language.
[[nodiscard]] DrawnProgram draw_program();

}  // namespace ripeline::proptests
