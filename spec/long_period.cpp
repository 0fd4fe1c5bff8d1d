#include "spec/long_period.h"

#include <cstdint>
#include <numeric>

namespace ripeline::spec {

bool has_long_period(const Program& program) {
  std::int64_t period = 1;
  for (const Lane& lane : program.lanes) {
    period = std::lcm(period, std::int64_t{lane.share.period});
    if (period > Share::kLongestPeriod) return true;
  }
  return false;
}

}  // namespace ripeline::spec
