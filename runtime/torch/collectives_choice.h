// Chooses the library that adds up tensors over the processes of a run with stages on devices.
//
// Each process offers its setting, its device, and whether it can load NCCL; each then chooses by
// the offers of all, so all choose the same library: NCCL if all can load the same version and no
// two share a device, which NCCL refuses; else Gloo. RIPELINE_COLLECTIVES, set alike in the
// environments of all, forces one library. The only I/O is reading that variable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/layout.h"
#include "core/status.h"
#include "runtime/payload.h"

namespace ripeline::runtime {

enum class Collectives : std::uint8_t { gloo, nccl };

// The offer of one process.
struct CollectivesOffer {
  std::string setting = {};       // gloo or nccl; empty if RIPELINE_COLLECTIVES is not set
  std::string device = {};        // equal in processes that share a device
  std::int32_t nccl_version = 0;  // 22809 is 2.28.9; 0 if the process cannot use NCCL
  std::string why_not = {};
};

struct CollectivesChoice {
  Collectives library = Collectives::gloo;
  std::string text = {};  // for people: "gloo (processes 0 and 1 share a GPU)"
};

// Reads RIPELINE_COLLECTIVES; empty if it is not set. Refuses any value but gloo and nccl.
core::Status read_collectives(std::string& setting);

[[nodiscard]] Blob encode(const CollectivesOffer& offer);
core::Status decode(const Blob& blob, CollectivesOffer& offer);

// `offers` are by process. Refuses different settings, and NCCL if a process cannot use it.
core::Status choose_collectives(const std::vector<CollectivesOffer>& offers,
                                CollectivesChoice& choice);

}  // namespace ripeline::runtime
