// Part: the part of runs that is drawn, as --begin and --end say it.
#pragma once

#include <optional>
#include <vector>

#include "spec/diagnostics.h"
#include "view/picture.h"

namespace ripeline::load {

// Times are in the unit of the run, from its start; nullopt stands for its start or end.
struct Part {
  std::optional<double> begin = std::nullopt;  // 0 or more
  std::optional<double> end = std::nullopt;    // above 0
};
// Fails if the part does not begin before it ends.
[[nodiscard]] spec::Result<void> check_part(const Part& part);
// The part with times in the unit of the first run. Fails also if the part begins after all runs
// have ended.
[[nodiscard]] spec::Result<view::Range> range_of(const Part& part,
                                                 const std::vector<view::Panel>& panels);

}  // namespace ripeline::load
