// Runs an order on the wire as calls of NCCL on the fakes, to see whether the run ends.
//
// The layout decides which communicators there are. The level of kernels decides how many queues a
// device has, and for how many kernels it has room. An action that names a stream runs on that CUDA
// stream; any other action runs on its rank's own stream. A batch runs on a stream of its
// communicator, as in c10d: that stream waits for the streams of the actions, and these wait for
// it. `after` becomes an event. A seed draws the order in which hosts issue and devices proceed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/wire.h"

namespace ripeline::testing_support {

struct WireRun {
  bool ended = false;
  std::string waits;                 // one line per wait; empty if the run has ended
  std::vector<std::string> misuses;  // as the fakes report misuses, mismatches included
};

// Only credits for all channels together are supported, not credits for single channels.
[[nodiscard]] WireRun run_wire(const wire::WireProgram& program, const wire::WireOptions& options,
                               std::uint64_t seed);

// Whether a batch has several communicators. Such a batch is launched in the order of NCCL's hash
// and not in the order of the list, so its kernels have another order than in the judge.
[[nodiscard]] bool has_batch_of_several(const wire::WireProgram& program, wire::WireLayout layout);

}  // namespace ripeline::testing_support
