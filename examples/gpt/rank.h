// What one rank does, whether it is a process or a thread.
#pragma once

#include "core/status.h"
#include "options.h"
#include "runtime/run.h"
#include "runtime/torch/groups.h"

namespace gpt {

// Train under the one schedule, or compare two. Every rank calls the same. Rank 0 prints and
// writes files; `passed` is false when --check found a difference.
ripeline::core::Status train(const Options& options, ripeline::runtime::Run& run,
                             ripeline::runtime::Groups& groups, bool& passed);
ripeline::core::Status compare(const Options& options, ripeline::runtime::Run& run,
                               ripeline::runtime::Groups& groups);

}  // namespace gpt
