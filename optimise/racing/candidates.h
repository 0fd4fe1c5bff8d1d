// The candidates of a race: a program's own dispatch, dispatches that commit to each of its orders,
// its hints, and hints that follow its orders and wait in several ways. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::optimise {

struct Candidate {
  std::string dispatch;  // `in order NAME`, `ready by NAME` or `ready`
  std::string hint;      // the hint to add, as `hint rn { … }`; empty if the program has it
  bool pyramid = false;  // whether `inputs pyramid;` must be added
  spec::Program program;
};
// The first candidate is the program itself. An order from a file is a candidate only if the
// dispatch uses it, since other files are not read; and hints that wait cannot follow such an
// order. `inputs` says that costs differ from input to input, so that the order of inputs matters.
[[nodiscard]] std::vector<Candidate> candidates_of(const spec::Program& program, bool inputs);
// Names the orders and hints that are not candidates, each with the reason.
[[nodiscard]] std::vector<std::string> notes_on(const spec::Program& program);

}  // namespace ripeline::optimise
