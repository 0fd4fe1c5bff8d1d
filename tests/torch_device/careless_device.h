// A device that gets one thing wrong of what offload and reload rest on: tests must notice.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>

#include "core/status.h"
#include "runtime/torch/torch_device.h"

namespace ripeline::testing_support {

enum class Mistake : std::uint8_t {
  none,
  source_let_go,      // the work hears of the end of an `offload` once that is enqueued
  arena_let_go,       // the same of a `reload`: others then get its bytes on the host
  reloaded_let_go,    // the same of a backward: others then get what it reads
  reload_seems_over,  // the work and the rank hear of a `reload` then: the backward comes too early
  only_rank_is_wrong,  // the rank alone does
};
std::ostream& operator<<(std::ostream& out, Mistake mistake);

// `fake`, which makes the mistake.
core::Status open_careless(Mistake mistake, std::unique_ptr<runtime::TorchDevice>& device);

}  // namespace ripeline::testing_support
