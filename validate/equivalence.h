// equivalence: whether what was emitted for a program says what the program says, for all values.
//
// What a generated header finds, takes and gives back comes as formulas in prefix form over what is
// held of each pool, h0, h1, …: (<= (+ h0 1) 4). Each is compared with the guard that proofs use
// (verify/ready/counters.h) by asking the solver for values where they differ. Numbers are
// unbounded integers there; the language keeps amounts and capacities far below what would overflow
// 64 bits. Never throws; one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/program.h"

namespace ripeline::validate {

struct EmittedChange {
  int pool = 0;
  std::string after;  // the amount held after the start or end
};
struct EmittedLane {
  std::optional<std::string> guard;  // nothing: none was emitted
  std::vector<EmittedChange> acquired;
  std::vector<EmittedChange> released;
};

struct Equivalence {
  int proved = 0;                        // formulas shown equal for all values
  std::vector<std::string> differences;  // lane, both sides and the values; or why it is open
  std::string solver;
};

// `lanes` as the program's; fewer or more are a difference.
[[nodiscard]] Equivalence compare_emitted(const spec::Program& program,
                                          const std::vector<EmittedLane>& lanes);

}  // namespace ripeline::validate
