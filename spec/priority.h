// The values that a hint's priorities give to tasks on one rank.
//
// `priority F = E` gives each task of F an integer value, which depends on the names in E:
//  * s, r, chunk and chunks are those of the task's stage and rank, m is the task's microbatch, and
//    microbatches is the number of microbatches in the step;
//  * the name of a resource stands for the amount that the task's pool (its stage's or its rank's)
//    holds when the rank makes its choice, before the task starts.
// The greatest value goes first. Elaboration has checked that each part of E has a value and fits
// in 64 bits in every state (spec/ranges.h). The program must outlive this object. Immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "spec/program.h"

namespace ripeline::spec {

class Priorities {
 public:
  Priorities(const Program& program, int rank);

  // The priority of a task whose lane a HintPlace lists.
  [[nodiscard]] std::int64_t value(const Task& task, int microbatches,
                                   const std::function<std::int64_t(int pool)>& held) const;

 private:
  struct OfLane {
    Expr value;                                      // over m, microbatches and resources
    std::vector<std::pair<std::string, int>> pools;  // each with the resource's name
  };

  const Program& program_;
  int first_lane_;
  std::vector<OfLane> lanes_;  // the rank's lanes
};

// The pool of the resource at the lane's stage or rank.
[[nodiscard]] int pool_of(const Program& program, int resource, const Lane& lane);

}  // namespace ripeline::spec
