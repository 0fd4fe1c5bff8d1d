// Classes: a program in which lanes have different microbatches, with a lane for each class of
// them.
//
// Two microbatches are of one class if each lane has both or neither. Between lanes of different
// shares counts say little, since they do not say which microbatches have ended. Where no lane
// starts its microbatches in order, those of different classes share nothing but engines and pools:
// the program with a lane for each op, stage and class has the same runs, task by task, and in it
// each lane needs lanes of its own share only. What holds of its counts holds of the program.
//
// An example: `op O offload on copy_out on m where m % 2 == 0 { needs F at here; }` behind an F
// that has all. How many tasks of O may start is how many even ones F has ended, which its count
// does not say. With 0F of class 0 and 0F of class 1, which take turns on the engine, it is a
// difference.
//
// Pure functions.
#pragma once

#include <memory>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

struct ByClasses {
  spec::Program program;     // readiness-first, without hints and orders
  std::vector<int> lane_of;  // per lane of `program`, the original lane
};

// Null: no need crosses shares; or some lane starts its microbatches in order or needs the one
// before; or links are bounded, or a rank has several members.
[[nodiscard]] std::unique_ptr<ByClasses> by_classes(const spec::Program& program);

}  // namespace ripeline::verify
