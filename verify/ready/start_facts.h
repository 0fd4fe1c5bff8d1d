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

  // Adds a fact without which no task may start: to `may`, and to each way in `must`.
  void require(const Linear& fact);
  // Requires one of these ways in addition: each way in `must` is combined with each of these.
  void suffices(const std::vector<Facts>& ways);
};

// This sum is >= 0 if the lane has a task left: its number of tasks minus the ended ones, minus 1.
[[nodiscard]] Linear has_one_left(const spec::Program& program, int lane);
// This sum is >= 0 if the producer has ended more tasks than the lane: the difference minus 1.
[[nodiscard]] Linear is_ahead(int producer, int lane);

}  // namespace ripeline::verify
