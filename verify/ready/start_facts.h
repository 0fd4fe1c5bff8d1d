// StartFacts: what counts tell about one lane's next start, as facts of the form sum >= 0.
//
// Plain values.
#pragma once

#include <vector>

#include "spec/program.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

using Facts = std::vector<Linear>;  // each is >= 0

struct StartFacts {
  Facts may;                // a task may start only if all of them hold
  std::vector<Facts> must;  // a task may start if all facts of one way hold

  // Adds a fact that is needed and, together with all that sufficed before, sufficient.
  void require(const Linear& fact);
  // From now on it takes all that sufficed before, and one of these ways as well.
  void suffices(const std::vector<Facts>& ways);
};

// >= 0 if the lane has a task left: its number of tasks, less the ended ones, less 1.
[[nodiscard]] Linear has_one_left(const spec::Program& program, int lane);
// >= 0 if the producer has ended more tasks than the lane: the difference less 1.
[[nodiscard]] Linear is_ahead(int producer, int lane);

}  // namespace ripeline::verify
