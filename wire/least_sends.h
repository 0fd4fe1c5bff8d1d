// The fewest credits (messages sent before their receives are posted) that make a program safe.
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

// The fewest credits with which the order is safe on one stream, where layout and kernel level do
// not matter.
struct LeastSends {
  verify::Outcome outcome = verify::Outcome::unknown;  // proved if found, refuted if none suffices
  std::string reason;                                  // the reason if refuted or unknown
  WireCounts counts;
  std::int64_t uniform = 0;  // the least number that suffices for every channel
  std::int64_t sum = 0;      // the least sum over all channels
  std::map<WireChannel, std::int64_t>
      credits;  // one choice with this sum; channels without credits are left out
};
[[nodiscard]] LeastSends least_sends(const spec::Program& program,
                                     const verify::VerifyOptions& options = {});

}  // namespace ripeline::wire
