// An order on the wire, as calls of NCCL on the fakes: does it end?
//
// What the layout says is which communicators there are; what the level of kernels says is how many
// queues a device has, and for how many kernels there is room. A rank's action with a stream is on
// that stream of CUDA, one without on its own. What is in a batch is on a stream of its
// communicator, which waits for the streams of its actions and they for it, as c10d does. `after`
// is an event. Hosts issue, and devices go on, in an order that a seed draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/wire.h"

namespace ripeline::testing_support {

struct WireRun {
  bool ended = false;
  std::string waits;                 // one line per wait; empty if it has ended
  std::vector<std::string> misuses;  // as the fakes report them, mismatches included
};

// Credits of channels are not in it, only those of all.
[[nodiscard]] WireRun run_wire(const wire::WireProgram& program, const wire::WireOptions& options,
                               std::uint64_t seed);

// A batch is launched in the order of NCCL's hash, not in that of the list, if it has several
// communicators. Then the order in which kernels are launched is not the judge's.
[[nodiscard]] bool has_batch_of_several(const wire::WireProgram& program, wire::WireLayout layout);

}  // namespace ripeline::testing_support
