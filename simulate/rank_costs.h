// RankCosts: the time of one microbatch in all layers of a rank, to compare schedules of one model.
//
// Schedules divide the layers of a rank into one or more stages, and may split a backward into two
// halves. Costs that are given once for the whole rank make all schedules do the same work: if a
// rank has K stages, each takes a K-th of the costs.
//
//   F=1,B=2          each half of a split backward takes half of B
//   F=1,I=1,W=0.5    a fused backward takes I + W
//   F=1,B=2,I=1.1,W=1   all are measured; here splitting a backward costs 0.1
//
// Costs belong to kinds of ops, not to names of ops, so that they fit every program. Plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "spec/expr.h"
#include "spec/program.h"

namespace ripeline::simulate {

struct RankCosts {
  spec::Rational forward;
  spec::Rational backward;  // fused
  spec::Rational backward_input;
  spec::Rational backward_weight;
  std::string text;  // the costs as the user wrote them

  // Replaces `costs`. Fails by status, which names what was expected.
  static core::Status parse(std::string_view text, RankCosts& costs);
};

// Reads a cost exactly: a number such as 2 or 0.5, below 1e9 and with up to 6 decimals.
[[nodiscard]] std::optional<spec::Rational> decimal(std::string_view text);

// Returns for each lane the exact time of its tasks: the rank's time for a microbatch, divided by
// the number of the rank's tasks of that kind for a microbatch. Ops of other kinds, such as
// reductions, keep the program's cost. Fails by status if a cost does not fit in 64 bits.
[[nodiscard]] core::Status costs_of_lanes(const spec::Program& program, int microbatches,
                                          const RankCosts& costs, std::vector<spec::Cost>& lanes);

}  // namespace ripeline::simulate
