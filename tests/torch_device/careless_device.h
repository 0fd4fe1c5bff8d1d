// A device that breaks one rule on which offload and reload depend; tests must notice the mistake.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>

#include "core/status.h"
#include "runtime/torch/torch_device.h"

namespace ripeline::testing_support {

enum class Mistake : std::uint8_t {
  none,
  source_let_go,       // an `offload` is reported to the work as ended when it is only enqueued
  arena_let_go,        // the same for a `reload`: its bytes on the host can be reused too early
  reloaded_let_go,     // the same for a backward: what it reads can be reused too early
  reload_seems_over,   // the same for a `reload`, to work and rank: the backward is early
  only_rank_is_wrong,  // the same for a `reload`, but only to the rank
};
std::ostream& operator<<(std::ostream& out, Mistake mistake);

// Opens the device `fake` with the mistake.
core::Status open_careless(Mistake mistake, std::unique_ptr<runtime::TorchDevice>& device);

}  // namespace ripeline::testing_support
