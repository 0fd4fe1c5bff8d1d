// Who a rank is, from torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RUN_ID) and Ripeline's own (RIPELINE_FOLDER,
// RIPELINE_TOKEN), which `ripeline launch` sets. Works under torchrun too: then folder and token
// are derived from the run's id, address and port.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace ripeline::runtime {

struct RankEnvironment {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
  std::string folder;
  std::uint64_t token = 0;
  [[nodiscard]] int default_threads() const;  // cores / ranks on this host, at least 1
};

// Fails by status naming the variable that is missing or malformed.
core::Status read_rank_environment(RankEnvironment& environment);

}  // namespace ripeline::runtime
