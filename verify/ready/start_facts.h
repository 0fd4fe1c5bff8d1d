// StartFacts: what counts tell about one lane's next start, in facts of the form sum >= 0.
//
// Plain values.
#pragma once

#include <vector>

#include "spec/program.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

using Facts = std::vector<Linear>;  // each is >= 0

struct StartFacts {
  Facts may;                // a task may start only if all these facts hold
  std::vector<Facts> must;  // ways to start: a task may start if all facts of one hold

  // Adds a fact without which no task may start, and which is from now on part of each way.
  void require(const Linear& fact);
  // Requires, from now on, one of these ways in addition to one of the previous ways.
  void suffices(const std::vector<Facts>& ways);
};

// >= 0 if the lane has a task left: its number of tasks minus the ended ones, minus 1.
[[nodiscard]] Linear has_one_left(const spec::Program& program, int lane);
// >= 0 if the producer has ended more tasks than the lane: the difference minus 1.
[[nodiscard]] Linear is_ahead(int producer, int lane);

}  // namespace ripeline::verify
