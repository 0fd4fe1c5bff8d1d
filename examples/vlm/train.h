// The work of one rank.
#pragma once

#include <memory>

#include "batches.h"
#include "core/status.h"
#include "options.h"
#include "runtime/run.h"

namespace vlm {

// Train under one schedule, or compare two. All ranks must call the same function; rank 0 prints.
// `passed` is false if --check found a difference.
ripeline::core::Status train(const Options& options, ripeline::runtime::Run& run,
                             const std::shared_ptr<const Batches>& batches, bool& passed);
ripeline::core::Status compare(const Options& options, ripeline::runtime::Run& run,
                               const std::shared_ptr<const Batches>& batches);

}  // namespace vlm
