// The candidates of a race: the program's own dispatch, its orders, committed to, its hints, and
// hints that follow its orders and wait in several ways. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::optimise {

struct Candidate {
  std::string dispatch;  // `in order NAME`, `ready by NAME` or `ready`
  std::string hint;      // to be written for it: `hint rn { … }`; empty: the program has it
  bool pyramid = false;  // needs `inputs pyramid;`, which the program has not
  spec::Program program;
};
// The program itself first. An order from a file is one only where the dispatch uses it, since it
// is not read otherwise; and no hint waits for it.
// `inputs`: costs differ from input to input, so that their order matters.
[[nodiscard]] std::vector<Candidate> candidates_of(const spec::Program& program, bool inputs);
// The orders and hints that are no candidates, and why.
[[nodiscard]] std::vector<std::string> notes_on(const spec::Program& program);

}  // namespace ripeline::optimise
