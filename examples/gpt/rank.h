// The work of one rank, whether it is a process or a thread.
#pragma once

#include <string>

#include "core/status.h"
#include "options.h"
#include "runtime/run.h"
#include "runtime/torch/torch_device.h"

namespace gpt {

struct Rank {
  ripeline::runtime::Run& run;
  std::string address;  // for other ranks; empty if all are on one host
  ripeline::runtime::TorchDevice& device;
};

// Train under one schedule, or compare two. All ranks must call the same function. Rank 0 prints
// and writes files. `passed` is false if --check found a difference.
ripeline::core::Status train(const Options& options, const Rank& rank, bool& passed);
ripeline::core::Status compare(const Options& options, const Rank& rank);

}  // namespace gpt
