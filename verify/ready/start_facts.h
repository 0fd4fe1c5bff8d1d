// StartFacts: what counts say of one lane's next start, as facts that are sums >= 0.
//
// Plain values.
#pragma once

#include <vector>

#include "spec/program.h"
#include "verify/ready/linear.h"

namespace ripeline::verify {

using Facts = std::vector<Linear>;  // all >= 0

struct StartFacts {
  Facts may;                // a task may start only if all of them hold
  std::vector<Facts> must;  // ways: one may start if all of one of them hold

  // Adds a fact that is both needed and, with all that was known, enough.
  void require(const Linear& fact);
  // All that sufficed before, and one of these as well.
  void suffices(const std::vector<Facts>& ways);
};

// The lane has a task left: its tasks, less those that have ended, less 1.
[[nodiscard]] Linear has_one_left(const spec::Program& program, int lane);
// The producer has ended more tasks than the lane: the difference less 1.
[[nodiscard]] Linear is_ahead(int producer, int lane);

}  // namespace ripeline::verify
