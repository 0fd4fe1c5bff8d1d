// Classes: a program whose lanes have different microbatches, rewritten with a lane for each class
// of microbatches.
//
// Two microbatches are of one class if each lane has both or neither. For lanes of different shares
// counts decide little, since they do not tell which microbatches have ended. If no lane starts its
// microbatches in order, microbatches of different classes share only engines and pools: the
// program with a lane for each op, stage and class has the same runs, task by task, and each of its
// lanes needs only lanes of the same share. Facts about its counts hold for the original.
//
// An example: `op O offload on copy_out on m where m % 2 == 0 { needs F at here; }` behind an F
// that has all microbatches. How many tasks of O may start depends on how many even microbatches F
// has ended, which F's count does not tell. With one 0F for class 0 and one for class 1, which
// share the engine, that is a difference of two counts.
//
// Pure functions.
#pragma once

#include <memory>
#include <vector>

#include "spec/program.h"

namespace ripeline::verify {

struct ByClasses {
  spec::Program program;     // is readiness-first, without hints and orders
  std::vector<int> lane_of;  // per lane of `program`, the original lane
};

// Null if no need crosses shares, if some lane starts its microbatches in order or needs its
// previous microbatch, if links are bounded, or if a rank has several members.
[[nodiscard]] std::unique_ptr<ByClasses> by_classes(const spec::Program& program);

}  // namespace ripeline::verify
