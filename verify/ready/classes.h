// Classes: a program whose lanes have different microbatches, rewritten with a lane for each class
// of microbatches.
//
// Two microbatches are of one class if each lane has both or neither. Between lanes of different
// shares counts decide little, since they do not tell which microbatches have ended. If no lane
// starts its microbatches in order, those of different classes share only engines and pools: the
// program with a lane for each op, stage and class has the same runs, task by task, and in it each
// lane needs only lanes of its own share. Facts about its counts hold for the program.
//
// An example: `op O offload on copy_out on m where m % 2 == 0 { needs F at here; }` behind an F
// that has all microbatches. How many tasks of O may start depends on how many even ones F has
// ended, which F's count does not tell. With 0F of class 0 and 0F of class 1, which take turns on
// the engine, that is a difference of two counts.
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

// Null if no need crosses shares; if some lane starts its microbatches in order or needs the one
// before; or if links are bounded, or a rank has several members.
[[nodiscard]] std::unique_ptr<ByClasses> by_classes(const spec::Program& program);

}  // namespace ripeline::verify
