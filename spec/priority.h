// The values of a hint's priorities, on one rank.
//
// `priority F = E` gives each task of F a value, an integer:
//  * s, r, chunk and chunks are of the task's stage and rank, m is the microbatch that the task is
//    of, microbatches how many the step has;
//  * the name of a resource stands for what the task's pool holds (of its stage, or of its rank)
//    when the rank chooses, before the task starts.
// What is greatest goes first. Elaboration has seen that each part of E has a value and fits in 64
// bits, wherever a rank may ask (spec/ranges.h). The program must outlive it. Immutable.
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
    std::vector<std::pair<std::string, int>> pools;  // by the resource's name
  };

  const Program& program_;
  int first_lane_;
  std::vector<OfLane> lanes_;  // the rank's
};

// The pool of the resource that a task of the lane reads.
[[nodiscard]] int pool_of(const Program& program, int resource, const Lane& lane);

}  // namespace ripeline::spec
