// Which changes may repair a program that is refuted or unknown. Private to optimise/.
//
// A Change is made in a copy of the tree that the program was made of. Nothing here says that one
// helps: find_repairs() judges each. Plain values; the tree outlives them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "spec/ast.h"
#include "spec/program.h"
#include "verify/verify.h"

namespace ripeline::optimise {

struct Change {
  std::string what;
  std::string text;
  spec::Span span;
  std::function<void(spec::ast::Pipeline&)> apply;
};
// Both, in one program.
[[nodiscard]] Change both(const Change& a, const Change& b);

// A change by a number, k = 1, 2, 4, … so many doublings; with none, by k = 1 alone. With `most`,
// by any k from 1 to it.
struct CandidateChange {
  std::function<Change(std::int64_t k)> change;
  int doublings = 0;
  std::string instead = {};  // its group, of which only the first that is proved is kept
  int resource = -1;         // if its capacity grows by k units: which, and the unit
  std::int64_t unit = 1;
  bool only_alone = false;  // not tried when something was proved: it says no more
  std::int64_t most = 0;
};

// Changes for an obligation that is not proved, nearest first. `last` only when nothing else was
// proved: room that is left of other resources, and two changes at once.
struct CandidateChanges {
  std::vector<CandidateChange> first;
  std::vector<CandidateChange> last;
};
[[nodiscard]] CandidateChanges candidates_for(const spec::ast::Pipeline& tree,
                                              const spec::Program& program,
                                              const verify::Obligation& open);

}  // namespace ripeline::optimise
