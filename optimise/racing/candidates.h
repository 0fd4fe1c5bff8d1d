// The candidates of a race: a program's own dispatch, a dispatch committed to each of its orders,
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
// The program itself is first. An order from a file is a candidate only if the dispatch uses it,
// since no other order is read; and no hint waits for an order from a file. `inputs` says that
// costs differ from input to input, so that the order of inputs matters.
[[nodiscard]] std::vector<Candidate> candidates_of(const spec::Program& program, bool inputs);
// The orders and hints that are not candidates, each with the reason.
[[nodiscard]] std::vector<std::string> notes_on(const spec::Program& program);

}  // namespace ripeline::optimise
