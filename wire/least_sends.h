// The fewest messages that must be able to wait for a program to be safe with real sends.
//
// Pure; never throws; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "spec/program.h"
#include "verify/verify.h"
#include "wire/layouts.h"

namespace ripeline::wire {

// The fewest credits with which the order is safe on one stream, where layout and kernel level make
// no difference.
struct LeastSends {
  verify::Outcome outcome = verify::Outcome::unknown;  // proved: these suffice; refuted: none do
  std::string reason;                                  // if refuted or unknown: why
  WireCounts counts;
  std::int64_t uniform = 0;  // the least that suffices if all channels have the same
  std::int64_t sum = 0;      // the least sum over all channels
  std::map<WireChannel, std::int64_t>
      credits;  // one way to reach the sum; channels without credits are left out
};
[[nodiscard]] LeastSends least_sends(const spec::Program& program,
                                     const verify::VerifyOptions& options = {});

}  // namespace ripeline::wire
