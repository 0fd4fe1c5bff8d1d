// Which library adds up tensors over the processes of a run whose stages are on devices.
//
// Each process says what it was told, on which device it is, and whether it can load NCCL; each
// then chooses by what all have said, so all choose the same: NCCL where all can load it in one
// version and no two share a device, since NCCL refuses that; else Gloo. RIPELINE_COLLECTIVES
// forces one, in the environment of all. No I/O but the environment's.
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
  std::string setting = {};       // gloo or nccl; empty: it was told none
  std::string device = {};        // equal for those that share one
  std::int32_t nccl_version = 0;  // 22809 is 2.28.9; 0: it cannot use it
  std::string why_not = {};
};

struct CollectivesChoice {
  Collectives library = Collectives::gloo;
  std::string text = {};  // for people: "gloo (processes 0 and 1 share a GPU)"
};

// Reads RIPELINE_COLLECTIVES, empty if it is not set; refuses any text but gloo and nccl.
core::Status read_collectives(std::string& setting);

[[nodiscard]] Blob encode(const CollectivesOffer& offer);
core::Status decode(const Blob& blob, CollectivesOffer& offer);

// By process. Refused: they were told different things, or to use NCCL where one cannot.
core::Status choose_collectives(const std::vector<CollectivesOffer>& offers,
                                CollectivesChoice& choice);

}  // namespace ripeline::runtime
