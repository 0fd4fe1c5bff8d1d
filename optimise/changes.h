// Proposes changes that may repair a program that is refuted or unknown. Private to optimise/.
//
// A Change is applied to a copy of the program's syntax tree. A proposed change need not help, so
// find_repairs() judges each change. Plain values; the tree must outlive them.
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
// Combines the two changes into one change.
[[nodiscard]] Change both(const Change& a, const Change& b);

// A change that depends on a number k. If `most` is 0, it is tried with k = 1, 2, 4, … up to
// 2^doublings; otherwise with numbers from 1 to `most`.
struct CandidateChange {
  std::function<Change(std::int64_t k)> change;
  int doublings = 0;
  std::string instead = {};  // a group; only its first proved change is kept
  int resource = -1;         // the resource whose capacity grows by k units, or -1
  std::int64_t unit = 1;
  bool only_alone = false;  // not tried if some other change was proved
  std::int64_t most = 0;
};

// Changes for an obligation that is not proved, nearest first. Changes in `last` (room to leave of
// other resources, and two changes at once) are tried only if no change in `first` was proved.
struct CandidateChanges {
  std::vector<CandidateChange> first;
  std::vector<CandidateChange> last;
};
[[nodiscard]] CandidateChanges candidates_for(const spec::ast::Pipeline& tree,
                                              const spec::Program& program,
                                              const verify::Obligation& open);

}  // namespace ripeline::optimise
