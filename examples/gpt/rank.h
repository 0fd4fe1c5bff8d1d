// What one rank does, whether it is a process or a thread.
#pragma once

#include <string>

#include "core/status.h"
#include "options.h"
#include "runtime/run.h"

namespace gpt {

// Train under the one schedule, or compare two. Every rank calls the same, each with the address by
// which the others reach it; empty: all are on one host. Rank 0 prints and writes files; `passed`
// is false when --check found a difference.
ripeline::core::Status train(const Options& options, ripeline::runtime::Run& run,
                             const std::string& address, bool& passed);
ripeline::core::Status compare(const Options& options, ripeline::runtime::Run& run,
                               const std::string& address);

}  // namespace gpt
