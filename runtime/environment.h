// RankEnvironment: the rank of this process, from the variables of its launcher: `ripeline launch`
// or torchrun, Open MPI's or MPICH's mpirun, or Slurm's srun (docs/runtime.md). The first of these
// whose variables are set is used. If one launcher has started another, the inner one comes first.
//
// The ranks of one host meet in a folder: RIPELINE_FOLDER, which `ripeline launch` sets, or a
// folder whose name follows from the run's own variables and from the process that started its
// ranks. The ranks of several hosts meet at a store, whose host and port are MASTER_ADDR and
// MASTER_PORT or follow from Slurm's variables.
#pragma once

#include <string>

#include "core/status.h"

namespace ripeline::runtime {

// The address of the store at which the ranks of several hosts meet.
struct StoreAddress {
  std::string host;  // the host of the process that serves the store: rank 0 or torchrun's agent
  int port = 0;
  bool is_of_agent = false;
  std::string attempt = {};  // from torchrun, whose store serves several attempts
};

struct RankEnvironment {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
  std::string folder;   // for ranks of one host
  StoreAddress store;   // for ranks of several hosts; then the folder is empty
  std::string address;  // numeric, at which others reach this host (RIPELINE_ADDRESS); or empty
  [[nodiscard]] int default_threads() const;  // cores / ranks on this host, at least 1
};

// Whether a launcher has started this process as a rank.
[[nodiscard]] bool is_rank();

// Fails with a status that names the variable that is missing or malformed.
core::Status read_rank_environment(RankEnvironment& environment);

}  // namespace ripeline::runtime
