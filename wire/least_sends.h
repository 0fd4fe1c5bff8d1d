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

namespace ripeline::verify {

// The fewest credits with which the order is safe on one stream, where layout and kernel level make
// no difference.
struct LeastSends {
  Outcome outcome = Outcome::unknown;  // proved: these; refuted: no credits suffice
  std::string reason;                  // if refuted or unknown: why
  WireCounts counts;
  std::int64_t uniform = 0;  // the same for each channel
  std::int64_t sum = 0;      // the least in all
  std::map<WireChannel, std::int64_t>
      credits;  // one way to reach it; channels without are left out
};
[[nodiscard]] LeastSends least_sends(const spec::Program& program,
                                     const VerifyOptions& options = {});

}  // namespace ripeline::verify
