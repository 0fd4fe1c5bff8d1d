// Which changes may repair a program that is refuted or unknown. Private to optimise/.
//
// A Change is applied to a copy of the program's syntax tree. Nothing here says that a change
// helps; find_repairs() judges each. Plain values; the tree must outlive them.
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
// The two changes as one change.
[[nodiscard]] Change both(const Change& a, const Change& b);

// A change by a number k. It is tried with k = 1, 2, 4, … up to 2^doublings; if `most` is not 0,
// with numbers from 1 to `most`.
struct CandidateChange {
  std::function<Change(std::int64_t k)> change;
  int doublings = 0;
  std::string instead = {};  // a group, of which only the first proved change is kept
  int resource = -1;         // its capacity grows by k units; -1 if none grows
  std::int64_t unit = 1;
  bool only_alone = false;  // not tried if another change was proved
  std::int64_t most = 0;
};

// Changes for an obligation that is not proved, nearest first. Those in `last` (room to leave of
// other resources, and two changes at once) are tried only if none in `first` was proved.
struct CandidateChanges {
  std::vector<CandidateChange> first;
  std::vector<CandidateChange> last;
};
[[nodiscard]] CandidateChanges candidates_for(const spec::ast::Pipeline& tree,
                                              const spec::Program& program,
                                              const verify::Obligation& open);

}  // namespace ripeline::optimise
